"""What a participant needs of every page, and whether the prompt of a turn asks for easy words."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0005_disclosures'),
    ]

    operations = [
        migrations.AddField(
            model_name='turn',
            name='easy_words',
            field=models.BooleanField(db_default=False),
        ),
        migrations.CreateModel(
            name='Needs',
            fields=[
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='needs', serialize=False, to='companion.participant')),
                ('type_percent', models.PositiveSmallIntegerField(db_default=100)),
                ('contrast', models.CharField(db_default='normal', max_length=8)),
                ('whole_messages', models.BooleanField(db_default=True)),
                ('pace', models.CharField(db_default='normal', max_length=8)),
                ('idle_factor', models.PositiveSmallIntegerField(db_default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)])),
                ('read_aloud', models.CharField(db_default='off', max_length=8)),
                ('reads_newest', models.BooleanField(db_default=True)),
                ('easy_words', models.BooleanField(db_default=False)),
                ('language', models.CharField(blank=True, db_default='', max_length=16)),
                ('review_by', models.DateField()),
                ('set_by', models.CharField(blank=True, db_default='', max_length=100)),
                ('set_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['review_by'], name='needs_by_review')],
                'constraints': [models.CheckConstraint(condition=models.Q(('contrast__in', ('normal', 'strong')), ('idle_factor__range', (1, 10)), ('pace__in', ('normal', 'slow')), ('read_aloud__in', ('off', 'button', 'each')), ('type_percent__in', (100, 125, 150, 200))), name='needs_known_choices')],
            },
        ),
    ]
