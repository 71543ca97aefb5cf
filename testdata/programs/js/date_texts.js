// Texts that are dates in many hands, and those that are none.
const days = ["2024-02-29", "2024/2/9", "Feb 29 2024", "29 Feb 2024", "29-Feb-24", "2/29/2024", "2024.2.9", "Thu, 29 Feb 2024", "31/12/2024", "2024-00-10", "2024-13-01", "Feb 32 2024", "Feb 30 2024", "March 7", "99/1/2", "20240101"];
const times = ["", " 12:30", "T12:30", "t12:30", " 1:2:3", " 12:30:45.5", " 12:30:45,5", " 24:00", " 24:01", " 12:60", " 12:30 PM", " 13:00 PM", " 0:15am", " at 12:30"];
const zones = ["", "Z", "z", " UTC", " GMT+0200", "+02:00", "+0530", "-05", " EST", " CET", " (CET)", " junk"];
for (const day of days) {
  const said = [];
  for (const time of times) for (const zone of zones) {
    const date = new Date(day + time + zone);
    said.push(isNaN(date) ? "-" : date.getTime() / 1000);
  }
  console.log(day, said.join(" "));
}
class Day extends Date {
  get year() { return this.getUTCFullYear(); }
}
console.log(new Day("2024-02-29 12:00Z").year, new Day(0) instanceof Date, typeof Date(), new Date(5).constructor === Date, Date.name, Date.length, Reflect.ownKeys(Date));
console.log(new Date(2024, 1), new Date(new Date(7)).getTime(), new Date(undefined), new Date(null), new Date(NaN), Date.parse("2024-02-29 12:00+02:00"), JSON.stringify([new Date(3)]));
