// Times with the names of zones, and hours in few letters.
const at = [new Date(Date.UTC(2024, 1, 29, 0, 5, 9)), new Date(Date.UTC(2024, 10, 3, 15, 45, 0))];
const options = [
  { timeZoneName: "short" }, { hour: "numeric", minute: "2-digit", timeZoneName: "short" }, { hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
  { hour: "numeric", minute: "numeric", second: "numeric", timeZoneName: "short" }, { dateStyle: "long", timeStyle: "long" },
  { dateStyle: "short", timeStyle: "long" }, { timeStyle: "long" }, { hour: "2-digit" },
  { year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "numeric", timeZoneName: "short" },
];
for (const locale of ["en-US", "en-GB", "de-DE", "fr-FR", "es-ES", "it-IT", "pt-BR", "nl-NL", "sv-SE", "ja-JP", "zh-CN"]) {
  for (const date of at) {
    console.log(locale, options.map((o) => new Intl.DateTimeFormat(locale, { timeZone: "Asia/Tokyo", ...o }).format(date)).join(" | "));
  }
}
