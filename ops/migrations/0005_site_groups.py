"""Groups of sites, and the view that says who supervises which site: directly, or by a group."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Conditions on either column reach the indexes of both halves.
CREATE_VIEW = """
CREATE VIEW ops_supervised AS
SELECT user_id, site_id FROM ops_supervision
UNION
SELECT m.user_id, g.site_id FROM ops_groupsupervision m JOIN ops_groupedsite g ON g.group_id = m.group_id
"""
DROP_VIEW = "DROP VIEW ops_supervised"


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0001_initial'),
        ('ops', '0004_staff_identity'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # Keys to sites and accounts keep writes to both out until this ends. Waiting for that would hold sign-ins up: better
        # to fail, and be started again.
        migrations.RunSQL("SET LOCAL lock_timeout = '5s'", migrations.RunSQL.noop),
        migrations.CreateModel(
            name='SiteGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=100)),
            ],
        ),
        migrations.CreateModel(
            name='GroupSupervision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='group_supervisions', to=settings.AUTH_USER_MODEL)),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='supervisions', to='ops.sitegroup')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'group'), name='group_supervision_once')],
            },
        ),
        migrations.CreateModel(
            name='GroupedSite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grouped', to='ops.sitegroup')),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grouped', to='companion.site')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('group', 'site'), name='grouped_once')],
            },
        ),
        migrations.RunSQL(CREATE_VIEW, DROP_VIEW),
    ]
