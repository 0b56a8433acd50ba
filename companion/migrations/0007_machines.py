"""Shared machines: pairing, offers of visits, and how each visit was opened."""

import companion.machines.models
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('companion', '0006_needs'),
    ]

    operations = [
        migrations.CreateModel(
            name='PairingCode',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('code_hash', models.CharField(max_length=64, unique=True)),
                ('claim_hash', models.CharField(blank=True, db_default='', db_index=True, max_length=64)),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='VisitOffer',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('by', models.BigIntegerField()),
                ('by_name', models.CharField(max_length=150)),
                ('offered_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField()),
                ('answered_at', models.DateTimeField(null=True)),
                ('answer', models.CharField(blank=True, db_default='', max_length=12)),
            ],
        ),
        migrations.AddField(
            model_name='site',
            name='cards_only_on_machines',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='site',
            name='prints_names_on_cards',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='visit',
            name='has_moved',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='visit',
            name='opened_by',
            field=models.CharField(blank=True, db_default='', max_length=150),
        ),
        migrations.AddField(
            model_name='visit',
            name='way',
            field=models.CharField(blank=True, db_default='', max_length=8),
        ),
        migrations.CreateModel(
            name='Machine',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=60)),
                ('token_hash', models.CharField(blank=True, db_default='', max_length=64)),
                ('former_hash', models.CharField(blank=True, db_default='', max_length=64)),
                ('rotated_at', models.DateTimeField(null=True)),
                ('paired_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('paired_by', models.CharField(max_length=150)),
                ('copied_at', models.DateTimeField(null=True)),
                ('withdrawn_at', models.DateTimeField(null=True)),
                ('withdrawn_by', models.CharField(blank=True, db_default='', max_length=150)),
                ('seen_at', models.DateTimeField(null=True)),
                ('site', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='machines', to='companion.site')),
            ],
        ),
        migrations.AddField(
            model_name='visit',
            name='machine',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='visits', to='companion.machine'),
        ),
        migrations.AddIndex(
            model_name='visit',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('machine__isnull', False)), fields=['machine'], name='visit_on_machine'),
        ),
        migrations.AddConstraint(
            model_name='visit',
            constraint=models.CheckConstraint(condition=models.Q(('way__in', ['', companion.machines.models.VisitWay['STAFF'], companion.machines.models.VisitWay['LINK'], companion.machines.models.VisitWay['CODE']])), name='visit_known_way'),
        ),
        migrations.AddField(
            model_name='pairingcode',
            name='machine',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='companion.machine'),
        ),
        migrations.AddField(
            model_name='visitoffer',
            name='machine',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='companion.machine'),
        ),
        migrations.AddField(
            model_name='visitoffer',
            name='participant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='companion.participant'),
        ),
        migrations.AddConstraint(
            model_name='machine',
            constraint=models.UniqueConstraint(models.F('site'), django.db.models.functions.text.Lower('name'), condition=models.Q(('withdrawn_at__isnull', True)), name='machine_once_per_name'),
        ),
        migrations.AddIndex(
            model_name='visitoffer',
            index=models.Index(fields=['machine', '-offered_at'], name='offer_by_machine'),
        ),
        migrations.AddConstraint(
            model_name='visitoffer',
            constraint=models.UniqueConstraint(condition=models.Q(('answered_at__isnull', True)), fields=('machine',), name='offer_once_per_machine'),
        ),
        migrations.AddConstraint(
            model_name='visitoffer',
            constraint=models.CheckConstraint(condition=models.Q(('answer__in', ['', companion.machines.models.OfferAnswer['YES'], companion.machines.models.OfferAnswer['NO'], companion.machines.models.OfferAnswer['TAKEN_BACK'], companion.machines.models.OfferAnswer['EXPIRED'], companion.machines.models.OfferAnswer['GONE']])), name='offer_known_answer'),
        ),
        migrations.AddConstraint(
            model_name='visitoffer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answer', ''), ('answered_at__isnull', True)), models.Q(('answered_at__isnull', False), models.Q(('answer', ''), _negated=True)), _connector='OR'), name='offer_answered_whole'),
        ),
    ]
