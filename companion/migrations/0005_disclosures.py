"""How often it was said that it is a computer program: a count by site and year, and an index to the last time."""


import companion.supervision.states
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0004_desk'),
    ]

    operations = [
        migrations.CreateModel(
            name='DisclosureCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('year', models.SmallIntegerField()),
                ('showings', models.IntegerField(db_default=0)),
            ],
        ),
        migrations.AddIndex(
            model_name='transcriptentry',
            index=models.Index(condition=models.Q(('kind', companion.supervision.states.EntryKind['DISCLOSURE'])), fields=['conversation', 'id'], name='entry_disclosure'),
        ),
        migrations.AddField(
            model_name='disclosurecount',
            name='site',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='companion.site'),
        ),
        migrations.AddConstraint(
            model_name='disclosurecount',
            constraint=models.UniqueConstraint(fields=('site', 'year'), name='disclosure_once_per_year'),
        ),
    ]
