// Programs in links: language and text are packed into the URL's fragment, which browsers do not send to the server.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

// link is the page's address with a program in it.
export async function link(language, code) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(code));
  const text = btoa(Array.from(packed, (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${location.origin}/#${language}=${text}`;
}

// shared is the program in a fragment, {language, code}, or null. It is not run: that is for the person to decide.
export async function shared(fragment) {
  const match = /^#(python|javascript|typescript)=([\w-]{1,100000})$/.exec(fragment);
  if (!match) return null;
  try {
    const packed = Uint8Array.from(atob(match[2].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const code = await through(new DecompressionStream("deflate-raw"), packed);
    return { language: match[1], code: new TextDecoder().decode(code.slice(0, 1 << 20)) };
  } catch {
    return null;
  }
}
