// Intl and the toLocale… methods, which QuickJS does not have or does without their options. What is not here (a locale, an
// option) is an error that names it, never another answer. Data: locales.js. Zones and collation are the host's.
(function (cloche) {
  "use strict";

  const { hasOwn, defineProperty } = Object;
  const { uncurry } = cloche;

  // ---- locales

  const available = Object.keys(cloche.locales);
  const defaults = { en: "en-US", de: "de-DE", fr: "fr-FR", es: "es-ES", it: "it-IT", pt: "pt-BR", nl: "nl-NL", sv: "sv-SE", ja: "ja-JP", zh: "zh-CN" };
  const tagPattern = /^[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-[a-z0-9]{5,8}|-[0-9][a-z0-9]{3})*(-[0-9a-wy-z](-[a-z0-9]{2,8})+)*(-x(-[a-z0-9]{1,8})+)?$/i;

  function canonical(tag) {
    if (typeof tag !== "string" && (typeof tag !== "object" || tag === null)) {
      throw new TypeError(`Incorrect locale information provided`);
    }
    tag = `${tag}`.replaceAll("_", "_");
    if (!tagPattern.test(tag)) throw new RangeError(`Incorrect locale information provided`);
    return tag.split("-").map((part, i) => {
      if (i === 0 || part.length !== 2 && part.length !== 4) return part.toLowerCase();
      return part.length === 2 ? part.toUpperCase() : part[0].toUpperCase() + part.slice(1).toLowerCase();
    }).join("-").replace(/-u-.*$/, (ext) => ext.toLowerCase());
  }
  function canonicalList(locales) {
    if (locales === undefined) return [];
    if (locales === null) throw new TypeError("Cannot convert undefined or null to object");
    return (typeof locales === "string" || locales instanceof Locale ? [locales] : [...locales]).map(canonical);
  }

  const missing = (what) => new RangeError(`Intl: ${what} in this sandbox`);

  // The locale to use: the first that is asked for. Another one instead would be a wrong answer.
  function resolve(locales) {
    const [first] = canonicalList(locales);
    if (first === undefined) return { locale: "en-US", data: dataOf("en-US"), extension: {} };
    const [base, ext] = first.split("-u-");
    const extension = {};
    if (ext) for (const m of ext.matchAll(/(?:^|-)([a-z0-9]{2})((?:-[a-z0-9]{3,8})*)/g)) extension[m[1]] = m[2].slice(1);
    const name = available.includes(base) ? base : defaults[base];
    if (name === undefined) throw missing(`locale "${first}" is not available; ${available.join(", ")} are,`);
    return { locale: base, data: dataOf(name), extension };
  }
  const parsed = {};
  const dataOf = (name) => parsed[name] ??= cloche.parse(cloche.locales[name]);
  dataOf("en-US");

  const supportedLocalesOf = (locales) => canonicalList(locales).filter((tag) => {
    const [base] = tag.split("-u-");
    return available.includes(base) || hasOwn(defaults, base);
  });

  // Reads an option that must be one of some values.
  function choice(options, name, values, fallback, who) {
    let value = options[name];
    if (value === undefined) return fallback;
    value = `${value}`;
    if (!values.includes(value)) throw new RangeError(`Value ${value} out of range for ${who} options property ${name}`);
    return value;
  }
  function integer(options, name, min, max, fallback) {
    const value = options[name];
    if (value === undefined) return fallback;
    const n = Number(value);
    if (!(n >= min && n <= max)) throw new RangeError(`${name} value is out of range.`);
    return Math.floor(n);
  }

  // ---- numbers

  const noMinorUnit = ["JPY", "KRW", "VND", "CLP", "ISK", "PYG", "UGX", "XAF", "XOF", "XPF", "RWF", "KMF", "GNF", "DJF", "BIF", "VUV"];
  const threeDigits = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

  // The decimal digits of a finite number or a BigInt: {negative, digits, exponent}, value = 0.digits × 10^exponent.
  function decimalOf(value) {
    let text = typeof value === "bigint" ? `${value}` : Object.is(value, -0) ? "-0" : `${value}`;
    const negative = text[0] === "-";
    if (negative) text = text.slice(1);
    const [mantissa, exp = "0"] = text.split("e");
    const [whole, fraction = ""] = mantissa.split(".");
    let digits = whole + fraction;
    let exponent = whole.length + Number(exp);
    const lead = /^0*/.exec(digits)[0].length;
    digits = digits.slice(lead).replace(/0+$/, "");
    exponent = digits === "" ? 0 : exponent - lead;
    return { negative, digits, exponent };
  }

  // Rounds to n digits after the first, half away from zero.
  function roundDigits(d, n) {
    if (n >= d.digits.length) return d;
    if (n < 0) return { ...d, digits: "", exponent: 0 };
    const up = d.digits.charCodeAt(n) >= 53;
    let kept = d.digits.slice(0, n);
    let { exponent } = d;
    if (up) {
      let i = kept.length - 1;
      while (i >= 0 && kept[i] === "9") i--;
      if (i < 0) {
        kept = "1";
        exponent++;
      } else {
        kept = kept.slice(0, i) + String.fromCharCode(kept.charCodeAt(i) + 1);
      }
    }
    kept = kept.replace(/0+$/, "");
    return { ...d, digits: kept, exponent: kept === "" ? 0 : exponent };
  }

  // The digits before and after the point.
  function plain({ digits, exponent }) {
    if (exponent <= 0) return ["0", digits === "" ? "" : "0".repeat(-exponent) + digits];
    return [digits.slice(0, exponent).padEnd(exponent, "0"), digits.slice(exponent)];
  }

  const numberFormats = new WeakMap();

  class NumberFormat {
    constructor(locales, options) {
      const { locale, data, extension } = resolve(locales);
      options = options === undefined ? {} : Object(options);
      const who = "Intl.NumberFormat()";
      if (options.numberingSystem !== undefined && options.numberingSystem !== "latn" || extension.nu && extension.nu !== "latn") {
        throw missing(`numberingSystem "${options.numberingSystem ?? extension.nu}" is not available`);
      }
      const o = { locale, data, numberingSystem: "latn" };
      o.style = choice(options, "style", ["decimal", "percent", "currency", "unit"], "decimal", "Intl.NumberFormat");
      if (o.style === "currency" && options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
      if (options.currency !== undefined) {
        const code = `${options.currency}`;
        if (!/^[A-Za-z]{3}$/.test(code)) throw new RangeError(`Invalid currency code : ${code}`);
        o.currency = code.toUpperCase();
      }
      o.currencyDisplay = choice(options, "currencyDisplay", ["code", "symbol", "narrowSymbol", "name"], "symbol", who);
      o.currencySign = choice(options, "currencySign", ["standard", "accounting"], "standard", who);
      if (o.style === "currency" && o.currencyDisplay === "name") throw missing('currencyDisplay "name" is not available');
      if (o.style === "unit") {
        if (options.unit === undefined) throw new TypeError("Invalid unit argument for Intl.NumberFormat() ''");
        o.unit = `${options.unit}`;
        if (!hasOwn(cloche.units, o.unit) || !locale.startsWith("en")) throw missing(`unit "${o.unit}" of locale ${locale} is not available`);
        o.unitDisplay = choice(options, "unitDisplay", ["short", "narrow", "long"], "short", who);
      }
      o.notation = choice(options, "notation", ["standard", "scientific", "engineering", "compact"], "standard", who);
      if ((o.notation === "scientific" || o.notation === "engineering") && /^(sv|en-AU)/.test(locale)) {
        throw missing(`notation "${o.notation}" of locale ${locale} is not available`);
      }
      o.compactDisplay = choice(options, "compactDisplay", ["short", "long"], "short", who);
      if (o.notation === "compact" && !/^en(-US|-CA|$)/.test(locale)) throw missing(`notation "compact" of locale ${locale} is not available`);
      digitOptions(o, options);
      const grouping = options.useGrouping;
      o.useGrouping = grouping === undefined ? (o.notation === "compact" ? "min2" : "auto") : grouping === true || grouping === "true" ? "always"
        : grouping === false || grouping === "false" ? false : choice(options, "useGrouping", ["always", "auto", "min2"], "auto", who);
      o.signDisplay = choice(options, "signDisplay", ["auto", "never", "always", "exceptZero", "negative"], "auto", who);
      for (const [name, only] of [["roundingMode", "halfExpand"], ["roundingPriority", "auto"], ["roundingIncrement", 1], ["trailingZeroDisplay", "auto"]]) {
        const value = options[name];
        if (name === "trailingZeroDisplay" && value === "stripIfInteger") o.stripIfInteger = true;
        else if (value !== undefined && value !== only) throw missing(`option ${name} "${value}" is not available`);
      }
      numberFormats.set(this, o);
    }
    get format() {
      const o = numberFormats.get(this);
      return o.bound ??= (value) => numberParts(o, value).map((p) => p.value).join("");
    }
    formatToParts(value) { return numberParts(numberFormats.get(this), value); }
    formatRange(a, b) {
      const [x, y] = [this.format(a), this.format(b)];
      return x === y ? `~${x}` : `${x}–${y}`;
    }
    resolvedOptions() {
      const o = numberFormats.get(this);
      const out = { locale: o.locale, numberingSystem: "latn", style: o.style };
      if (o.style === "currency") Object.assign(out, { currency: o.currency, currencyDisplay: o.currencyDisplay, currencySign: o.currencySign });
      if (o.style === "unit") Object.assign(out, { unit: o.unit, unitDisplay: o.unitDisplay });
      out.minimumIntegerDigits = o.minInteger;
      if (o.minSignificant === undefined) Object.assign(out, { minimumFractionDigits: o.minFraction, maximumFractionDigits: o.maxFraction });
      else Object.assign(out, { minimumSignificantDigits: o.minSignificant, maximumSignificantDigits: o.maxSignificant });
      Object.assign(out, { useGrouping: o.useGrouping, notation: o.notation });
      if (o.notation === "compact") out.compactDisplay = o.compactDisplay;
      return Object.assign(out, {
        signDisplay: o.signDisplay, roundingMode: "halfExpand", roundingIncrement: 1, trailingZeroDisplay: o.stripIfInteger ? "stripIfInteger" : "auto", roundingPriority: "auto",
      });
    }
    get [Symbol.toStringTag]() { return "Intl.NumberFormat"; }
  }

  function digitOptions(o, options) {
    const minor = o.style === "currency" ? (noMinorUnit.includes(o.currency) ? 0 : threeDigits.includes(o.currency) ? 3 : 2) : 0;
    o.minInteger = integer(options, "minimumIntegerDigits", 1, 21, 1);
    const { minimumSignificantDigits: minS, maximumSignificantDigits: maxS } = options;
    const minF = integer(options, "minimumFractionDigits", 0, 100, undefined);
    const maxF = integer(options, "maximumFractionDigits", 0, 100, undefined);
    if (minS !== undefined || maxS !== undefined) {
      o.minSignificant = integer(options, "minimumSignificantDigits", 1, 21, 1);
      o.maxSignificant = integer(options, "maximumSignificantDigits", o.minSignificant, 21, 21);
      return;
    }
    if (o.notation === "compact" && minF === undefined && maxF === undefined) {
      o.compactRounding = true;
      o.minFraction = o.maxFraction = 0;
      return;
    }
    const standardMin = o.style === "currency" && o.notation === "standard" ? minor : 0;
    const standardMax = o.style === "currency" && o.notation === "standard" ? minor : o.style === "percent" ? 0 : 3;
    o.minFraction = minF ?? Math.min(standardMin, maxF ?? standardMin);
    o.maxFraction = maxF ?? Math.max(standardMax, o.minFraction);
    if (o.minFraction > o.maxFraction) throw new RangeError("maximumFractionDigits value is out of range.");
  }

  const compactNames = { short: ["", "K", "M", "B", "T"], long: ["", " thousand", " million", " billion", " trillion"] };

  function toNumeric(value) {
    if (typeof value === "bigint") return value;
    if (typeof value === "string") {
      const text = value.trim();
      return /^[-+]?\d{16,}$/.test(text) ? BigInt(text) : Number(text);
    }
    return Number(value);
  }

  function round(o, d) {
    if (o.maxSignificant !== undefined) return roundDigits(d, o.maxSignificant);
    if (o.compactRounding) return roundDigits(d, Math.max(2, d.exponent));
    return roundDigits(d, d.exponent + o.maxFraction);
  }

  function numberParts(o, value) {
    value = toNumeric(value);
    const { data } = o;
    const body = [];
    let d = { negative: false, digits: "", exponent: 0 };
    let one = false; // the plural form is that of one
    if (typeof value === "number" && !Number.isFinite(value)) {
      d.negative = value < 0;
      d.digits = "x";
      body.push(Number.isNaN(value) ? { type: "nan", value: "NaN" } : { type: "infinity", value: "∞" });
    } else {
      d = decimalOf(value);
      if (o.style === "percent" && d.digits !== "") d.exponent += 2;
      let power = 0;
      if (o.notation !== "standard") {
        const scale = (e) => o.notation === "scientific" ? e - 1 : o.notation === "engineering" ? Math.floor((e - 1) / 3) * 3
          : Math.max(0, Math.min(12, Math.floor((e - 1) / 3) * 3));
        if (d.digits !== "") {
          power = scale(d.exponent);
          const rounded = round(o, { ...d, exponent: d.exponent - power });
          if (scale(rounded.exponent + power) !== power) power = scale(rounded.exponent + power);
          d.exponent -= power;
        }
      }
      d = round(o, d);
      let [whole, fraction] = plain(d);
      if (o.minSignificant !== undefined) {
        const have = d.digits === "" ? 1 : Math.max(d.digits.length, d.exponent);
        const shown = d.exponent <= 0 && d.digits !== "" ? d.digits.length : have;
        if (shown < o.minSignificant) fraction += "0".repeat(o.minSignificant - shown);
      } else {
        fraction = fraction.padEnd(o.minFraction, "0");
      }
      if (o.stripIfInteger && /^0*$/.test(fraction)) fraction = "";
      whole = whole.padStart(o.minInteger, "0");
      one = whole === "1" && fraction === "";
      pushGroups(body, whole, o);
      if (fraction !== "") body.push({ type: "decimal", value: data.decimal }, { type: "fraction", value: fraction });
      if (o.notation === "compact" && power > 0) {
        const name = compactNames[o.compactDisplay][power / 3];
        if (name[0] === " ") body.push({ type: "literal", value: " " });
        body.push({ type: "compact", value: name.trim() });
      } else if (o.notation === "scientific" || o.notation === "engineering") {
        body.push({ type: "exponentSeparator", value: "E" });
        if (power < 0) body.push({ type: "exponentMinusSign", value: data.minus });
        body.push({ type: "exponentInteger", value: `${Math.abs(power)}` });
      }
    }
    return withSign(o, d, body, one);
  }

  function pushGroups(body, whole, o) {
    const { data } = o;
    const limit = o.useGrouping === "min2" || data.min2 && o.useGrouping === "auto" ? 5 : 4;
    if (!o.useGrouping || whole.length < limit) {
      body.push({ type: "integer", value: whole });
      return;
    }
    const groups = [whole.slice(-3)];
    const size = data.indian ? 2 : 3;
    for (let end = whole.length - 3; end > 0; end -= size) groups.unshift(whole.slice(Math.max(0, end - size), end));
    groups.forEach((g, i) => {
      if (i > 0) body.push({ type: "group", value: data.group });
      body.push({ type: "integer", value: g });
    });
  }

  function withSign(o, d, body, one) {
    const { data } = o;
    const zero = d.digits === "";
    const negative = d.negative && (o.signDisplay === "auto" || o.signDisplay === "always" || !zero);
    let sign = "";
    switch (o.signDisplay) {
      case "auto": sign = negative ? "-" : ""; break;
      case "always": sign = negative ? "-" : "+"; break;
      case "exceptZero": sign = zero || body[0].type === "nan" ? "" : negative ? "-" : "+"; break;
      case "negative": sign = negative && !zero ? "-" : ""; break;
    }
    let pattern = "#";
    let currency;
    if (o.style === "percent") pattern = data.percent;
    if (o.style === "currency") {
      const narrow = o.currencyDisplay === "narrowSymbol";
      const symbol = o.currencyDisplay === "code" ? o.currency
        : (narrow ? data.narrowSymbols?.[o.currency] ?? dataOf("en-US").narrowSymbols[o.currency] : undefined) ?? data.symbols[o.currency] ?? o.currency;
      // A symbol of letters is set apart from digits, but not from NaN or infinity.
      const digits = body[0].type !== "nan" && body[0].type !== "infinity";
      const letter = digits && (/[A-Za-z]$/.test(symbol) && data.currency.startsWith("¤") || /^[A-Za-z]+$/.test(symbol));
      currency = symbol;
      pattern = letter ? data.currencyCode : data.currency;
      if (sign === "-") {
        if (o.currencySign === "accounting") {
          if (o.locale !== "en-US" && o.locale !== "en") throw missing(`currencySign "accounting" of locale ${o.locale} is not available`);
          pattern = letter ? "(¤\u00a0#)" : "(¤#)";
          sign = "";
        } else {
          pattern = letter ? data.currencyCodeNegative : data.currencyNegative;
        }
      } else if (sign === "+") {
        pattern = (letter ? data.currencyCodeNegative : data.currencyNegative).replace("-", "+");
      }
    } else if (sign !== "") {
      pattern = sign + pattern;
    }
    if (o.style === "unit") {
      const forms = cloche.units[o.unit][{ long: 0, short: 1, narrow: 2 }[o.unitDisplay]];
      pattern = sign + (one ? forms[0] : forms.at(-1)).replace("{0}", "\u0000");
    }
    return applyPattern(pattern, o.style === "unit" ? "\u0000" : "#", body, data, currency, o.style);
  }

  function applyPattern(pattern, mark, body, data, currency, style) {
    const out = [];
    const text = (value, type = "literal") => {
      if (type === "literal" && out.at(-1)?.type === "literal") out.at(-1).value += value;
      else out.push({ type, value });
    };
    for (const c of pattern) {
      if (c === mark) out.push(...body);
      else if (c === "-" && style !== "unit") text(data.minus, "minusSign");
      else if (c === "+") text("+", "plusSign");
      else if (c === "%" && style === "percent") text("%", "percentSign");
      else if (c === "¤") text(currency, "currency");
      else if (c === "-" && out.length === 0) text(data.minus, "minusSign");
      else if (style === "unit" && !/\s/.test(c)) {
        if (out.at(-1)?.type === "unit") out.at(-1).value += c;
        else text(c, "unit");
      } else if (style === "unit" && out.at(-1)?.type === "unit") out.at(-1).value += c;
      else text(c);
    }
    return out;
  }

  // ---- dates

  const dateFormats = new WeakMap();
  const zoneOf = (name, ms) => {
    const answer = cloche.zone(name, ms);
    if (answer === null) return null;
    const [east, abbreviation, full] = answer.split(",");
    return { east: Number(east), abbreviation, name: full };
  };

  function timeZone(value) {
    if (value === undefined) return zoneOf("", 0).name;
    const name = `${value}`;
    const m = /^([+-])(\d\d):?(\d\d)?$/.exec(name);
    if (m) throw new RangeError(`Invalid time zone specified: ${name}`);
    if (/^(utc|gmt|etc\/(utc|gmt|uct|zulu)|uct|zulu)$/i.test(name)) return /gmt/i.test(name) ? "UTC" : "UTC";
    const found = zoneOf(name, 0); // whatever its case
    if (found === null) throw new RangeError(`Invalid time zone specified: ${name}`);
    return found.name;
  }

  const usZones = { EST: "Eastern Standard Time", EDT: "Eastern Daylight Time", CST: "Central Standard Time", CDT: "Central Daylight Time",
    MST: "Mountain Standard Time", MDT: "Mountain Daylight Time", PST: "Pacific Standard Time", PDT: "Pacific Daylight Time",
    AKST: "Alaska Standard Time", AKDT: "Alaska Daylight Time", HST: "Hawaii-Aleutian Standard Time", HDT: "Hawaii-Aleutian Daylight Time" };
  const usPlaces = /^(America\/(New_York|Detroit|Chicago|Denver|Boise|Phoenix|Los_Angeles|Anchorage|Juneau|Toronto|Vancouver|Winnipeg|Edmonton|Indiana\/\w+|Kentucky\/\w+|Menominee|North_Dakota\/\w+)|Pacific\/Honolulu|US\/\w+|EST|EST5EDT|CST6CDT|MST|MST7MDT|PST8PDT|HST)$/;
  const longZones = {
    "Europe/London": ["Greenwich Mean Time", "British Summer Time"], "Europe/Dublin": ["Greenwich Mean Time", "Irish Standard Time"],
    "Asia/Tokyo": ["Japan Standard Time"], "Asia/Kolkata": ["India Standard Time"], "Asia/Calcutta": ["India Standard Time"],
    "Asia/Shanghai": ["China Standard Time"], "Asia/Seoul": ["Korean Standard Time"], "Asia/Singapore": ["Singapore Standard Time"],
    "Asia/Dubai": ["Gulf Standard Time"], "Asia/Hong_Kong": ["Hong Kong Standard Time"], "America/Sao_Paulo": ["Brasilia Standard Time"],
    "Australia/Sydney": ["Australian Eastern Standard Time", "Australian Eastern Daylight Time"],
  };
  for (const city of ["Berlin", "Paris", "Madrid", "Rome", "Vienna", "Zurich", "Amsterdam", "Brussels", "Stockholm", "Oslo", "Copenhagen", "Prague", "Warsaw", "Budapest"]) {
    longZones[`Europe/${city}`] = ["Central European Standard Time", "Central European Summer Time"];
  }

  function offsetName(east, long) {
    if (east === 0) return long ? "GMT+00:00" : "GMT+0";
    const minutes = Math.abs(Math.trunc(east / 60));
    const [h, m] = [Math.floor(minutes / 60), minutes % 60];
    const pad = (n) => `${n}`.padStart(2, "0");
    return `GMT${east < 0 ? "-" : "+"}${long ? pad(h) : h}${long || m > 0 ? `:${pad(m)}` : ""}`;
  }

  // A zone's short name where people of the locale know it; undefined elsewhere.
  const germanZones = { CET: "MEZ", CEST: "MESZ", EET: "OEZ", EEST: "OESZ", WET: "WEZ", WEST: "WESZ" };
  const europeans = new Set(["en-GB", "de-DE", "es-ES", "it-IT", "nl-NL", "sv-SE"]);
  const americans = /^(America|US|Canada|Mexico)\/|^Atlantic\/Bermuda$|^Pacific\/Honolulu$|^[A-Z]{3}(\d[A-Z]{3})?$/;
  const otherAmericans = /^America\/(Havana|Dawson|Hermosillo|Mazatlan|Whitehorse)$/; // called by their offset
  const brazil = /^America\/(Araguaina|Bahia|Belem|Boa_Vista|Campo_Grande|Cuiaba|Eirunepe|Fortaleza|Maceio|Manaus|Porto_Velho|Recife|Rio_Branco|Santarem|Sao_Paulo)$/;
  function abbreviationOf(locale, name, abbreviation, east) {
    switch (locale) {
      case "en-US": case "en-CA": case "nl-NL":
        if (name === "America/Adak") return abbreviation.replace("H", "HA");
        if (locale === "en-CA" && name === "America/Miquelon") return east === -7200 ? "PMDT" : "PMST";
        if (americans.test(name) && !otherAmericans.test(name) && (hasOwn(usZones, abbreviation) || abbreviation === "AST" || abbreviation === "ADT")) return abbreviation;
        if (locale === "en-CA" && /^N[SD]T$/.test(abbreviation)) return abbreviation;
        break;
      case "en-AU":
        if (name === "Australia/Lord_Howe") return east === 39600 ? "LHDT" : "LHST";
        if (name === "Australia/Eucla") return "ACWST";
        if (name === "Antarctica/Casey") return "AWST";
        return /^(Australia|Antarctica)\//.test(name) && /^A[CEW][SD]T$/.test(abbreviation) || /^NZ[SD]T$/.test(abbreviation) ? abbreviation : undefined;
      case "en-IN":
        if (name === "Asia/Colombo" || abbreviation === "IST" && /^Asia\/(Kol|Cal)/.test(name)) return "IST";
        break;
      case "ja-JP": return abbreviation === "JST" ? "JST" : undefined;
      case "pt-BR": return brazil.test(name) ? { [-10800]: "BRT", [-14400]: "AMT", [-18000]: "ACT" }[east] : undefined;
      case "en-GB":
        if (abbreviation === "BST" && /^(Europe\/London|GB|GB-Eire)$/.test(name)) return "BST";
    }
    if ((locale === "en-GB" || locale === "en-IN") && /^Asia\/(Dubai|Muscat)$/.test(name)) return "GST";
    if (!europeans.has(locale) || !hasOwn(germanZones, abbreviation)) return undefined;
    return locale === "de-DE" ? germanZones[abbreviation] : abbreviation;
  }
  function shortOffset(locale, east, abbreviation, name) {
    if (east === 0 && (abbreviation === "GMT" || name === "Antarctica/Troll") && /^(en|es|nl|sv)/.test(locale)) return "GMT";
    let text = offsetName(east, false);
    if (locale === "fr-FR") text = text.replace("GMT", "UTC");
    return locale === "fr-FR" || locale === "sv-SE" ? text.replace("-", "\u2212") : text;
  }

  function zoneName(o, style, ms) {
    const { east, abbreviation, name } = zoneOf(o.zone, ms);
    if (style === "shortOffset") return offsetName(east, false);
    if (style === "longOffset") return offsetName(east, true);
    if (style.endsWith("Generic")) throw missing(`timeZoneName "${style}" is not available`);
    const utc = name === "UTC";
    if (style === "short") {
      if (utc) return "UTC";
      return abbreviationOf(o.locale, name, abbreviation, east) ?? shortOffset(o.locale, east, abbreviation, name);
    }
    if (o.locale.startsWith("en")) {
      if (utc) return "Coordinated Universal Time";
      if (usPlaces.test(name) && hasOwn(usZones, abbreviation)) return usZones[abbreviation];
      const names = longZones[name];
      if (names !== undefined) {
        const winter = Math.min(zoneOf(o.zone, Date.UTC(2024, 0, 1)).east, zoneOf(o.zone, Date.UTC(2024, 6, 1)).east);
        return east === winter || names.length === 1 ? names[0] : names[1];
      }
      if (/^Etc\/GMT/.test(name)) return offsetName(east, true);
    }
    throw missing(`timeZoneName "long" of ${name} in locale ${o.locale} is not available`);
  }

  const fields = {
    weekday: ["narrow", "short", "long"], era: ["narrow", "short", "long"], year: ["2-digit", "numeric"], month: ["2-digit", "numeric", "narrow", "short", "long"],
    day: ["2-digit", "numeric"], hour: ["2-digit", "numeric"], minute: ["2-digit", "numeric"], second: ["2-digit", "numeric"],
    timeZoneName: ["short", "long", "shortOffset", "longOffset", "shortGeneric", "longGeneric"],
  };
  const styles = ["full", "long", "medium", "short"];

  class DateTimeFormat {
    constructor(locales, options) { dateFormats.set(this, dateOptions(locales, options, "any", "date", "Intl.DateTimeFormat")); }
    get format() {
      const o = dateFormats.get(this);
      return o.bound ??= (date) => dateText(o, date);
    }
    formatToParts(date) { return dateParts(dateFormats.get(this), timeOf(date)); }
    formatRange(from, to) {
      const o = dateFormats.get(this);
      const [a, b] = [dateText(o, from), dateText(o, to)];
      if (a === b) return a;
      throw missing("formatRange of two dates is not available");
    }
    resolvedOptions() {
      const o = dateFormats.get(this);
      const out = { locale: o.locale, calendar: "gregory", numberingSystem: "latn", timeZone: o.timeZone };
      if (o.hour !== undefined || o.timeStyle) {
        out.hourCycle = o.hourCycle;
        out.hour12 = o.hourCycle === "h11" || o.hourCycle === "h12";
      }
      for (const name of [...Object.keys(fields), "fractionalSecondDigits", "dateStyle", "timeStyle"]) if (o[name] !== undefined) out[name] = o[name];
      return out;
    }
    get [Symbol.toStringTag]() { return "Intl.DateTimeFormat"; }
  }

  // required and fallback: which fields a method wants, and which it adds when none is asked for (ECMA-402, ToDateTimeOptions).
  function dateOptions(locales, options, required, fallback, who) {
    const { locale, data, extension } = resolve(locales);
    options = options === undefined ? {} : options === null ? (() => { throw new TypeError("Cannot convert undefined or null to object"); })() : Object(options);
    const o = { locale, data };
    for (const [name, only] of [["calendar", "gregory"], ["numberingSystem", "latn"]]) {
      const value = options[name] ?? extension[{ calendar: "ca", numberingSystem: "nu" }[name]];
      if (value !== undefined && value !== only && !(name === "calendar" && (value === "gregorian" || value === "iso8601" && false))) {
        throw missing(`${name} "${value}" is not available`);
      }
    }
    if (options.dayPeriod !== undefined) throw missing("option dayPeriod is not available");
    for (const name of Object.keys(fields)) o[name] = choice(options, name, fields[name], undefined, who);
    o.fractionalSecondDigits = integer(options, "fractionalSecondDigits", 1, 3, undefined);
    o.dateStyle = choice(options, "dateStyle", styles, undefined, who);
    o.timeStyle = choice(options, "timeStyle", styles, undefined, who);
    o.timeZone = timeZone(options.timeZone);
    o.zone = options.timeZone === undefined ? "" : o.timeZone; // as the host calls it
    const asked = [...Object.keys(fields), "fractionalSecondDigits"].find((name) => o[name] !== undefined);
    if (o.dateStyle || o.timeStyle) {
      if (asked) throw new TypeError(`Can't set option ${asked} when ${o.dateStyle ? "dateStyle" : "timeStyle"} is used`);
      if (required === "date" && o.timeStyle) throw new TypeError(`Invalid option : timeStyle`);
      if (required === "time" && o.dateStyle) throw new TypeError(`Invalid option : dateStyle`);
    } else {
      const has = (names) => names.some((name) => o[name] !== undefined);
      const dateFields = ["weekday", "year", "month", "day"];
      const timeFields = ["hour", "minute", "second", "fractionalSecondDigits"];
      const wanted = required === "date" ? dateFields : required === "time" ? timeFields : [...dateFields, ...timeFields];
      if (!has(wanted)) {
        if (fallback !== "time") o.year = o.month = o.day = "numeric";
        if (fallback !== "date") o.hour = o.minute = o.second = "numeric";
      }
    }
    const cycle = choice(options, "hourCycle", ["h11", "h12", "h23", "h24"], extension.hc, who);
    if (options.hour12 !== undefined && options.hour12 !== null) {
      // As in Node, noon and midnight are 12 and 24 where the clock has twelve hours by default, and else 0.
      o.hourCycle = options.hour12 ? (data.h12 ? "h12" : "h11") : data.h12 ? "h24" : "h23";
    } else {
      o.hourCycle = cycle ?? (data.h12 ? "h12" : "h23");
    }
    return o;
  }

  function timeOf(date) {
    const ms = date === undefined ? Date.now() : Number(date);
    if (Number.isNaN(ms) || Math.abs(ms) > 8.64e15) throw new RangeError("Invalid time value");
    return Math.trunc(ms);
  }
  // As in Node the text has plain spaces where the parts have narrow no-break ones.
  const dateText = (o, date) => dateParts(o, timeOf(date)).map((p) => p.value).join("").replaceAll("\u202f", " ");

  // Year, month and so on in the zone.
  function local(o, ms) {
    const d = new Date(ms + zoneOf(o.zone, ms).east * 1000);
    return {
      year: d.getUTCFullYear(), month: d.getUTCMonth(), day: d.getUTCDate(), weekday: d.getUTCDay(),
      hour: d.getUTCHours(), minute: d.getUTCMinutes(), second: d.getUTCSeconds(), ms: d.getUTCMilliseconds(),
    };
  }

  // The name of an era comes after the year, where English has it.
  function datePattern(o) {
    const pattern = patternOfDate(o);
    if (!o.era) return pattern;
    if (!o.locale.startsWith("en") || !/y$/.test(pattern)) throw missing(`option era is not available with these options in locale ${o.locale}`);
    return `${pattern} G`;
  }
  const eras = { narrow: ["B", "A"], short: ["BC", "AD"], long: ["Before Christ", "Anno Domini"] };

  function patternOfDate(o) {
    const { data } = o;
    if (o.dateStyle) return data.styles[styles.indexOf(o.dateStyle)];
    const { weekday, year, month, day } = o;
    if (!weekday && !year && !month && !day) return undefined;
    const text = month === "long" || month === "short" || month === "narrow";
    const key = (year ? "y" : "") + (month ? { "numeric": "M", "2-digit": "MM", "narrow": "MMM", "short": "MMM", "long": "MMMM" }[month] : "") +
      (day ? (day === "2-digit" ? "dd" : "d") : "");
    const lead = weekday === "long" ? "EE" : weekday ? "E" : "";
    let pattern = data.dates[lead + key] ?? (lead === "EE" ? data.dates[`E${key}`]?.replace("EEE", "EEEE") : undefined);
    if (pattern === undefined && o.locale === "en-US" && month && !text && day) { // different widths of month and day
      const even = key.replace(/M+/, "M").replace(/d+/, "d");
      pattern = (data.dates[lead + even] ?? data.dates[`E${even}`]?.replace("EEE", "EEEE"))
        ?.replace(/M+/, month === "2-digit" ? "MM" : "M").replace(/d+/, day === "2-digit" ? "dd" : "d");
    }
    if (pattern === undefined) {
      const names = ["weekday", "year", "month", "day"].filter((name) => o[name]).map((name) => `${name}: "${o[name]}"`);
      throw missing(`the combination of options {${names.join(", ")}} of locale ${o.locale} is not available`);
    }
    if (year === "2-digit" && o.locale === "en-AU" && !text) throw missing('year "2-digit" of locale en-AU is not available');
    return year === "2-digit" ? pattern.replace("y", "yy") : pattern;
  }

  function timePattern(o) {
    const { data } = o;
    const twelve = o.hourCycle === "h11" || o.hourCycle === "h12";
    const full = twelve ? data.time12 : data.time24;
    if (o.timeStyle) {
      let pattern = o.timeStyle === "short" ? full : full.replace("mm", "mm:ss");
      if (o.timeStyle === "full" || o.timeStyle === "long") pattern += " z";
      return pattern;
    }
    const { hour, minute, second, fractionalSecondDigits: fraction } = o;
    if (!hour && !minute && !second && !fraction) return undefined;
    let pattern;
    const seconds = (second === "2-digit" ? "ss" : "s") + (fraction ? `.${"S".repeat(fraction)}` : "");
    if (hour) {
      if (second && !minute || !second && fraction) throw missing("hour and second without minute are not available");
      pattern = minute ? full : twelve ? data.hour12 : data.hour24;
      if (second) pattern = pattern.replace("mm", `mm:ss${fraction ? `.${"S".repeat(fraction)}` : ""}`);
      if (hour === "2-digit") {
        pattern = unquoted(pattern, /[hH]+/g, (m) => m[0] + m[0]);
      } else if (o.timeZoneName && !twelve) { // the forms with a zone are others
        if (!minute && !/^(de|fr|ja|en-US|en-CA|en-AU|en-IN)/.test(o.locale)) throw missing(`a time zone's name with the hour alone in locale ${o.locale} is not available`);
        if (minute && !/^(ja|es)/.test(o.locale)) pattern = pattern.replace(/H+/, second ? "H" : "HH");
      } else if (!data.h12 && minute === "2-digit" && second !== "numeric") {
        pattern = pattern.replace("HH", "H");
      }
    } else if (minute && second) {
      pattern = `mm:ss${fraction ? `.${"S".repeat(fraction)}` : ""}`;
    } else if (minute) {
      pattern = "m";
    } else {
      pattern = second ? seconds : "S".repeat(fraction);
    }
    if (!o.locale.startsWith("en") && fraction) pattern = pattern.replace(".", o.data.decimal);
    return pattern;
  }

  // Replaces in a pattern what is not literal text.
  const unquoted = (pattern, what, by) => pattern.split("'").map((part, i) => i % 2 === 0 ? part.replace(what, by) : part).join("'");

  function glue(o) {
    const g = o.data.glue;
    if (o.dateStyle) return g.ss[styles.indexOf(o.dateStyle)];
    let join;
    if (o.weekday && !o.day && !o.month && !o.year && o.locale === "en-US") return o.timeZoneName ? ", " : " ";
    if (o.weekday) join = o.month === "long" ? g.w : o.month === "short" ? g.e : g.n;
    else join = o.month === "long" ? g.l : o.month === "short" ? g.s : g.n;
    if (join === null || join === undefined || o.weekday && !o.day) throw missing(`date and time together with these options in locale ${o.locale} are not available`);
    if (o.month === "long" && !(o.day && o.year)) return o.locale === "en-US" ? " 'at' " : join;
    return join;
  }

  function dateParts(o, ms) {
    const date = datePattern(o);
    const time = timePattern(o);
    const t = local(o, ms);
    let pattern = date !== undefined && time !== undefined ? date + glue(o) + time : date ?? time ?? "";
    if (o.timeZoneName || o.timeStyle === "full" || o.timeStyle === "long") {
      const shown = pattern.endsWith(" z") ? pattern.slice(0, -2) : pattern;
      if (time === undefined) pattern = shown + (/^(fr|sv|ja|zh)/.test(o.locale) ? " z" : ", z");
      else if (o.locale !== "zh-CN") pattern = `${shown} z`;
      else if (o.hour && !o.minute) throw missing("a time zone's name with the hour alone in locale zh-CN is not available");
      else pattern = `${date === undefined ? "" : date + glue(o)}z ${time.replace(/ z$/, "")}`;
    }
    const out = [];
    const text = (value) => {
      if (out.at(-1)?.type === "literal") out.at(-1).value += value;
      else out.push({ type: "literal", value });
    };
    for (let i = 0; i < pattern.length;) {
      const c = pattern[i];
      if (c === "'") {
        const end = pattern.indexOf("'", i + 1);
        text(pattern.slice(i + 1, end));
        i = end + 1;
        continue;
      }
      let n = 1;
      while (pattern[i + n] === c) n++;
      if (/[GyMdEhHmsSaz]/.test(c)) out.push(field(o, t, c, n, pattern, ms));
      else text(pattern.slice(i, i + n));
      i += n;
    }
    return out;
  }

  const two = (n) => `${n}`.padStart(2, "0");

  function field(o, t, c, n, pattern, ms) {
    const { data } = o;
    const num = (v) => n === 2 ? two(v) : `${v}`;
    switch (c) {
      case "G": return { type: "era", value: eras[o.era][t.year > 0 ? 1 : 0] };
      case "y": return { type: "year", value: n === 2 ? two(Math.abs(t.year) % 100) : `${t.year <= 0 ? 1 - t.year : t.year}` };
      case "M": {
        if (n < 3) return { type: "month", value: num(t.month + 1) };
        if (o.month === "narrow") return { type: "month", value: data.narrow[t.month] };
        const alone = !pattern.includes("d");
        if (n === 4) return { type: "month", value: ((alone && data.monthsAlone) || data.months)[t.month] };
        const useAlone = alone && data.shortAlone && (!pattern.includes("y") || data.shortWithYearAlone);
        return { type: "month", value: (useAlone ? data.shortAlone : data.short)[t.month] };
      }
      case "d": return { type: "day", value: num(t.day) };
      case "E":
        if (o.weekday === "narrow") return { type: "weekday", value: data.daysNarrow[t.weekday] };
        if (n === 4) return { type: "weekday", value: data.days[t.weekday] };
        return { type: "weekday", value: ((pattern.includes("d") && data.daysInDate) || data.daysShort)[t.weekday] };
      case "h": return { type: "hour", value: num(o.hourCycle === "h11" ? t.hour % 12 : (t.hour + 11) % 12 + 1) };
      case "H": {
        return { type: "hour", value: num(o.hourCycle === "h24" && t.hour === 0 ? 24 : t.hour) };
      }
      case "m": return { type: "minute", value: num(t.minute) };
      case "s": return { type: "second", value: num(t.second) };
      case "S": return { type: "fractionalSecond", value: `${t.ms}`.padStart(3, "0").slice(0, n) };
      case "a": return { type: "dayPeriod", value: data.ampm[t.hour < 12 ? 0 : 1] };
    }
    return { type: "timeZoneName", value: zoneName(o, o.timeZoneName ?? (o.timeStyle === "full" ? "long" : "short"), ms) };
  }

  // ---- collation, plurals, lists, relative time, segments

  class Collator {
    #o;
    constructor(locales, options) {
      const [tag = "en-US"] = canonicalList(locales);
      options = options === undefined ? {} : Object(options);
      const numericExt = /-u(?:-[a-z0-9]+)*-kn(?!-false)/.test(tag);
      const o = {
        locale: tag.split("-u-")[0],
        usage: choice(options, "usage", ["sort", "search"], "sort", "Intl.Collator"),
        sensitivity: choice(options, "sensitivity", ["base", "accent", "case", "variant"], "variant", "Intl.Collator"),
        numeric: options.numeric === undefined ? numericExt : !!options.numeric,
        caseFirst: choice(options, "caseFirst", ["upper", "lower", "false"], "false", "Intl.Collator"),
        ignorePunctuation: !!options.ignorePunctuation,
      };
      for (const [name, bad] of [["usage", "search"], ["caseFirst", "upper"], ["ignorePunctuation", true], ["sensitivity", "case"]]) {
        if (o[name] === bad) throw missing(`Collator with ${name} ${cloche.quote(`${bad}`)} is not available`);
      }
      this.#o = o;
    }
    get compare() {
      const { locale, sensitivity, numeric } = this.#o;
      return (a, b) => cloche.collate(`${a}`, `${b}`, locale, sensitivity, numeric);
    }
    resolvedOptions() {
      const { locale, usage, sensitivity, ignorePunctuation, numeric, caseFirst } = this.#o;
      return { locale, usage, sensitivity, ignorePunctuation, collation: "default", numeric, caseFirst };
    }
    get [Symbol.toStringTag]() { return "Intl.Collator"; }
  }
  const plainCollator = new Collator();

  class PluralRules {
    #o;
    constructor(locales, options) {
      const { locale } = resolve(locales);
      if (!/^(en|de|nl|sv|it|es)/.test(locale)) throw missing(`PluralRules of locale ${locale} is not available`);
      const type = choice(options ?? {}, "type", ["cardinal", "ordinal"], "cardinal", "Intl.PluralRules");
      if (type === "ordinal" && !locale.startsWith("en")) throw missing(`PluralRules of type "ordinal" of locale ${locale} is not available`);
      this.#o = { locale, type, format: new NumberFormat("en-US", { ...options, style: "decimal", useGrouping: false }) };
    }
    select(n) {
      const text = this.#o.format.format(Math.abs(Number(n)));
      if (this.#o.type === "cardinal") return text === "1" ? "one" : "other";
      if (!/^\d+$/.test(text)) return "other";
      const i = Number(text);
      const [ten, hundred] = [i % 10, i % 100];
      if (ten === 1 && hundred !== 11) return "one";
      if (ten === 2 && hundred !== 12) return "two";
      return ten === 3 && hundred !== 13 ? "few" : "other";
    }
    resolvedOptions() {
      return { locale: this.#o.locale, type: this.#o.type, pluralCategories: this.#o.type === "cardinal" ? ["one", "other"] : ["few", "one", "two", "other"] };
    }
    get [Symbol.toStringTag]() { return "Intl.PluralRules"; }
  }

  const english = (what, locales) => {
    const { locale } = resolve(locales);
    if (!locale.startsWith("en")) throw missing(`${what} of locale ${locale} is not available`);
    return locale;
  };

  class ListFormat {
    #o;
    constructor(locales, options) {
      const locale = english("ListFormat", locales);
      this.#o = {
        locale,
        type: choice(options ?? {}, "type", ["conjunction", "disjunction", "unit"], "conjunction", "Intl.ListFormat"),
        style: choice(options ?? {}, "style", ["long", "short", "narrow"], "long", "Intl.ListFormat"),
      };
    }
    formatToParts(list) {
      const items = [...list].map((item) => {
        if (typeof item !== "string") throw new TypeError("Iterable yielded a non-String value");
        return { type: "element", value: item };
      });
      const { type, style, locale } = this.#o;
      const american = /^en(-US|$)/.test(locale);
      const word = type === "disjunction" ? "or" : type === "unit" || style === "narrow" ? "" : style === "long" || !american ? "and" : "&";
      const comma = type === "unit" && style === "narrow" ? " " : ", ";
      const pair = word === "" ? (type === "unit" && style === "narrow" ? " " : ", ") : ` ${word} `;
      const last = word === "" ? comma : american ? `, ${word} ` : ` ${word} `;
      const out = [];
      items.forEach((item, i) => {
        if (i > 0) out.push({ type: "literal", value: items.length === 2 ? pair : i === items.length - 1 ? last : comma });
        out.push(item);
      });
      return out;
    }
    format(list) { return this.formatToParts(list).map((p) => p.value).join(""); }
    resolvedOptions() { return { ...this.#o }; }
    get [Symbol.toStringTag]() { return "Intl.ListFormat"; }
  }

  // Units of time in English: in each style, of one and of several.
  const timeUnits = {
    second: { short: [" sec."], narrow: ["s"] }, minute: { short: [" min."], narrow: ["m"] }, hour: { short: [" hr."], narrow: ["h"] },
    day: { short: [" day", " days"], narrow: ["d"] }, week: { short: [" wk."], narrow: ["w"] }, month: { short: [" mo."], narrow: ["mo"] },
    quarter: { short: [" qtr.", " qtrs."], narrow: ["q"] }, year: { short: [" yr."], narrow: ["y"] },
  };
  class RelativeTimeFormat {
    #o;
    constructor(locales, options) {
      const locale = english("RelativeTimeFormat", locales);
      const style = choice(options ?? {}, "style", ["long", "short", "narrow"], "long", "Intl.RelativeTimeFormat");
      this.#o = { locale, style, numeric: choice(options ?? {}, "numeric", ["always", "auto"], "always", "Intl.RelativeTimeFormat") };
    }
    formatToParts(value, unit) {
      const n = Number(value);
      if (!Number.isFinite(n)) throw new RangeError("Invalid time value");
      unit = `${unit}`.replace(/s$/, "");
      if (!hasOwn(timeUnits, unit)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
      const { locale, style, numeric } = this.#o;
      const short = timeUnits[unit].short;
      if (numeric === "auto") {
        const name = style === "long" || unit === "hour" || unit === "minute" ? unit : short[0].slice(1);
        const named = { day: ["yesterday", "today", "tomorrow"], second: [, "now"] }[unit]
          ?? (unit === "hour" || unit === "minute" ? [, `this ${name}`] : [`last ${name}`, `this ${name}`, `next ${name}`]);
        const word = Object.is(n, -0) ? named[1] : named[n + 1];
        if (word !== undefined) return [{ type: "literal", value: word }];
      }
      const past = n < 0 || Object.is(n, -0);
      const parts = new NumberFormat(locale).formatToParts(Math.abs(n)).map((part) => ({ ...part, unit }));
      const [one, several = one] = style === "long" ? [` ${unit}`, ` ${unit}s`] : timeUnits[unit][style];
      const after = parts.length === 1 && parts[0].value === "1" ? one : several;
      return past ? [...parts, { type: "literal", value: `${after} ago` }] : [{ type: "literal", value: "in " }, ...parts, { type: "literal", value: after }];
    }
    format(value, unit) { return this.formatToParts(value, unit).map((part) => part.value).join(""); }
    resolvedOptions() { return { ...this.#o, numberingSystem: "latn" }; }
    get [Symbol.toStringTag]() { return "Intl.RelativeTimeFormat"; }
  }

  const graphemes = /\r\n|\p{RI}\p{RI}|\p{Emoji}(?:\p{EMod}|\ufe0f\u20e3?|[\u{e0020}-\u{e007e}]+\u{e007f})?(?:\u200d\p{Emoji}(?:\p{EMod}|\ufe0f)?)*\p{M}*|[\u1100-\u115f]*[\u1160-\u11a7\uac00-\ud7a3][\u1160-\u11ff]*|[^]\p{M}*/gu;
  const words = /[\p{L}\p{N}\p{M}_]+(?:['’.][\p{L}\p{N}]+)*|\s+|[^]/gu;
  class Segmenter {
    #o;
    constructor(locales, options) {
      const [locale = "en-US"] = canonicalList(locales);
      const granularity = choice(options ?? {}, "granularity", ["grapheme", "word", "sentence"], "grapheme", "Intl.Segmenter");
      if (granularity === "sentence" || granularity === "word" && !/^(en|de|fr|es|it|pt|nl|sv)/.test(locale)) {
        throw missing(`Segmenter with granularity "${granularity}" of locale ${locale} is not available`);
      }
      this.#o = { locale, granularity };
    }
    segment(input) {
      input = `${input}`;
      const word = this.#o.granularity === "word";
      return {
        * [Symbol.iterator]() {
          for (const m of input.matchAll(word ? words : graphemes)) {
            const s = { segment: m[0], index: m.index, input };
            if (word) s.isWordLike = /[\p{L}\p{N}]/u.test(m[0]);
            yield s;
          }
        },
        containing(at = 0) { return [...this].find((s) => at >= s.index && at < s.index + s.segment.length); },
      };
    }
    resolvedOptions() { return { ...this.#o }; }
    get [Symbol.toStringTag]() { return "Intl.Segmenter"; }
  }

  class Locale {
    #tag;
    constructor(tag, options) {
      this.#tag = canonical(tag);
      if (options?.region) this.#tag = `${this.language}-${options.region}`;
    }
    get baseName() { return this.#tag.split("-u-")[0]; }
    get language() { return this.#tag.split("-")[0]; }
    get script() { return /-([A-Z][a-z]{3})(?=-|$)/.exec(this.baseName)?.[1]; }
    get region() { return /-([A-Z]{2}|\d{3})(?=-|$)/.exec(this.baseName)?.[1]; }
    toString() { return this.#tag; }
    maximize() { throw missing("Locale.maximize is not available"); }
    minimize() { throw missing("Locale.minimize is not available"); }
    get [Symbol.toStringTag]() { return "Intl.Locale"; }
  }

  // What Intl has elsewhere and not here.
  const absent = (name) => ({
    [name]: class {
      constructor() { throw missing(`Intl.${name} is not available`); }
      static supportedLocalesOf() { return []; }
    },
  })[name];

  // The older classes may be called without new.
  const callable = (Class) => new Proxy(Class, { apply: (target, self, args) => new target(...args) });
  for (const Class of [NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat, RelativeTimeFormat, Segmenter]) {
    defineProperty(Class, "supportedLocalesOf", { value: supportedLocalesOf, writable: true, configurable: true });
  }
  const Intl = {
    Collator: callable(Collator), DateTimeFormat: callable(DateTimeFormat), NumberFormat: callable(NumberFormat),
    PluralRules, ListFormat, RelativeTimeFormat, Segmenter, Locale, DisplayNames: absent("DisplayNames"), DurationFormat: absent("DurationFormat"),
    getCanonicalLocales: canonicalList,
    supportedValuesOf(key) {
      if (key === "calendar") return ["gregory"];
      if (key === "numberingSystem") return ["latn"];
      if (key === "unit") return Object.keys(cloche.units);
      throw missing(`Intl.supportedValuesOf("${key}") is not available`);
    },
  };
  for (const Class of [NumberFormat, DateTimeFormat, Collator]) Class.prototype.constructor = Intl[Class.name];
  for (const name of Object.keys(Intl)) defineProperty(Intl, name, { enumerable: false });
  defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
  cloche.globals({ Intl });

  // ---- the methods of built-in classes

  const method = (proto, name, fn, length = 0) => {
    defineProperty(fn, "name", { value: name, configurable: true });
    defineProperty(fn, "length", { value: length, configurable: true });
    defineProperty(proto, name, { value: fn, writable: true, configurable: true, enumerable: false });
  };
  const plainNumber = new NumberFormat();
  const numberValue = uncurry(Number.prototype.valueOf);
  const bigintValue = uncurry(BigInt.prototype.valueOf);
  const dateValue = uncurry(Date.prototype.getTime);
  const formatNumber = (value, locales, options) =>
    (locales === undefined && options === undefined ? plainNumber : new NumberFormat(locales, options)).format(value);
  method(Number.prototype, "toLocaleString", { f(locales, options) { return formatNumber(numberValue(this), locales, options); } }.f);
  method(BigInt.prototype, "toLocaleString", { f(locales, options) { return formatNumber(bigintValue(this), locales, options); } }.f);

  for (const [name, required, fallback] of [["toLocaleString", "any", "all"], ["toLocaleDateString", "date", "date"], ["toLocaleTimeString", "time", "time"]]) {
    method(Date.prototype, name, {
      f(locales, options) {
        const ms = dateValue(this);
        if (Number.isNaN(ms)) return "Invalid Date";
        return dateText(dateOptions(locales, options, required, fallback, `Date.prototype.${name}`), ms);
      },
    }.f);
  }
  // The zone's name, which QuickJS leaves out.
  const dateToString = uncurry(Date.prototype.toString);
  const toTimeString = uncurry(Date.prototype.toTimeString);
  const named = (text, date) => {
    const ms = dateValue(date);
    if (Number.isNaN(ms)) return text;
    const o = { locale: "en-US", zone: "" };
    let name;
    try {
      name = zoneName(o, "long", ms);
    } catch {
      name = zoneOf("", ms).abbreviation;
    }
    return `${text.replace(/ \(.*\)$/, "")} (${name})`;
  };
  method(Date.prototype, "toString", { f() { return named(dateToString(this), this); } }.f);
  method(Date.prototype, "toTimeString", { f() { return named(toTimeString(this), this); } }.f);
  const toPrimitive = Date.prototype[Symbol.toPrimitive];
  void toPrimitive; // it calls toString, which is ours now

  const textOf = (value, name) => {
    if (value === undefined || value === null) throw new TypeError(`String.prototype.${name} called on null or undefined`);
    return `${value}`;
  };
  method(String.prototype, "localeCompare", {
    f(that, locales, options) {
      const text = textOf(this, "localeCompare");
      const collator = locales === undefined && options === undefined ? plainCollator : new Collator(locales, options);
      return collator.compare(text, `${that}`);
    },
  }.f, 1);
  const lower = uncurry(String.prototype.toLowerCase);
  const upper = uncurry(String.prototype.toUpperCase);
  for (const [name, plainCase] of [["toLocaleLowerCase", lower], ["toLocaleUpperCase", upper]]) {
    method(String.prototype, name, {
      f(locales) {
        const text = textOf(this, name);
        const [tag] = canonicalList(locales);
        if (tag !== undefined && /^(tr|az|lt|el)(-|$)/.test(tag)) throw missing(`${name} of locale ${tag} is not available`);
        return plainCase(text);
      },
    }.f);
  }
  const joinLocale = function (locales, options) {
    return Array.from(this, (v) => v === null || v === undefined ? "" : v.toLocaleString(locales, options)).join(",");
  };
  method(Array.prototype, "toLocaleString", joinLocale);
  method(Object.getPrototypeOf(Uint8Array.prototype), "toLocaleString", { f(...args) { return joinLocale.apply(this, args); } }.f);
})
