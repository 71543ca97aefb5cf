// Where a program was when it was stopped from outside. The driver calls this in a copy of the stopped memory, in which the
// program's frames are still the newest.
(function (cloche) {
  "use strict";

  const { rawStack, stringify } = cloche;
  const TheError = Error;
  const setLimit = cloche.uncurry(Object.getOwnPropertyDescriptor(Error, "stackTraceLimit").set);

  const most = 50; // frames
  // "    at f (main.js:2:9)", "    at f (missing)" for one that has called nothing yet, so that its line is not known
  const frame = /^ {4}at (.*) \((?:missing|([^()]+):(\d+):\d+)\)$/;

  const text = 500; // characters of a name
  cloche.whereabouts = () => {
    cloche.forgetHook();
    setLimit(TheError, most);
    const frames = [];
    for (const line of (rawStack(new TheError()) ?? "").split("\n")) {
      const m = frame.exec(line);
      if (m !== null && !m[2]?.startsWith("cloche:")) frames.push({ file: m[2]?.slice(0, text) ?? "", line: +(m[3] ?? 0), function: m[1]?.slice(0, text) });
    }
    return stringify({ frames });
  };

  cloche.startTracing(); // from now on, and not while the image is made
})
