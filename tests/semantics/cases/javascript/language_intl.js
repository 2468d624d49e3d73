console.log(new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone: 'Asia/Tokyo' }).format(0));
console.log(Intl.DateTimeFormat().resolvedOptions(), new Date(0).toString(), new Date(0).toLocaleString());
console.log(['z', 'ä', 'a'].sort(new Intl.Collator('sv').compare), new Intl.PluralRules('pl').select(3), (12.5).toLocaleString('ar-EG'));
console.log(new Intl.ListFormat('fr').format(['a', 'b', 'c']), new Intl.RelativeTimeFormat('ja').format(-3, 'day'));
