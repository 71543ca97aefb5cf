// The code editor of the playground: CodeMirror with what the page needs, behind a small interface. It is bundled at setup
// with the packages that it imports; the page falls back to a text area when it is not there (plain.js has the same
// interface).
//
// The editor lives in a shadow root, where CodeMirror's styles are adopted style sheets: the page's content policy allows
// no style elements.

import { autocompletion, closeBrackets, closeBracketsKeymap, completeAnyWord, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
import { Compartment, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers,
} from "@codemirror/view";
import { tags as t } from "@lezer/highlight";

const languages = {
  python: () => [python(), indentUnit.of("    ")],
  javascript: () => [javascript(), indentUnit.of("  ")],
  typescript: () => [javascript({ typescript: true }), indentUnit.of("  ")],
};

// Colours are the page's own, by name, so that light and dark need no second theme.
const colours = HighlightStyle.define([
  { tag: [t.keyword, t.controlKeyword, t.operatorKeyword, t.definitionKeyword, t.moduleKeyword, t.self], color: "var(--code-keyword)" },
  { tag: [t.string, t.special(t.string), t.regexp], color: "var(--code-string)" },
  { tag: [t.number, t.bool, t.null, t.atom], color: "var(--code-number)" },
  { tag: [t.comment, t.docString], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [t.function(t.variableName), t.function(t.propertyName), t.definition(t.function(t.variableName))], color: "var(--code-function)" },
  { tag: [t.className, t.typeName, t.namespace], color: "var(--code-type)" },
  { tag: [t.meta, t.annotation], color: "var(--code-comment)" },
  { tag: t.invalid, color: "var(--bad)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", height: "100%", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", scrollbarWidth: "thin" },
  ".cm-content": { caretColor: "var(--accent)", padding: "10px 0" },
  ".cm-line": { padding: "0 12px 0 6px" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none", paddingLeft: "6px" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)" },
  ".cm-error-line": { backgroundColor: "var(--bad-soft)", boxShadow: "inset 3px 0 0 var(--bad)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selection)", color: "var(--ink)" },
});

const setError = StateEffect.define();
const errorLine = StateField.define({
  create: () => Decoration.none,
  update(marks, tr) {
    for (const e of tr.effects) {
      if (e.is(setError)) {
        if (!e.value || e.value > tr.state.doc.lines) return Decoration.none;
        return Decoration.set([Decoration.line({ class: "cm-error-line" }).range(tr.state.doc.line(e.value).from)]);
      }
    }
    return tr.docChanged ? Decoration.none : marks;
  },
  provide: (f) => EditorView.decorations.from(f),
});

// Characters that are typed are put in by us. The browser would take over the colour of what they replace as an inline
// style, which the page's content policy refuses, with an error on the console.
const typing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const text = event.data;
    if (event.inputType !== "insertText" || !text || event.isComposing || view.composing || view.state.readOnly) return false;
    event.preventDefault();
    const { from, to } = view.state.selection.main;
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((h) => h(view, from, to, text, insert))) view.dispatch(insert());
    return true;
  },
});

// create puts an editor into host. Options: language, label, describedBy (text), onRun, onChange.
export function create(host, { language, label, description, onRun, onChange }) {
  const root = host.attachShadow({ mode: "open" });
  const box = document.createElement("div");
  box.style.height = "100%";
  root.append(box);
  const about = document.createElement("p");
  about.id = "about";
  about.hidden = true;
  about.textContent = description;
  root.append(about);

  const syntax = new Compartment();
  const view = new EditorView({
    parent: box,
    root,
    state: EditorState.create({
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }])),
        lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(), drawSelection(), indentOnInput(),
        bracketMatching(), closeBrackets(), autocompletion({ activateOnTyping: false }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
        syntax.of(languages[language]()), syntaxHighlighting(colours), theme, errorLine, typing,
        EditorState.tabSize.of(4), EditorState.languageData.of(() => [{ autocomplete: completeAnyWord }]),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "about", autocapitalize: "off", tabindex: "0" }),
        EditorView.updateListener.of((u) => u.docChanged && onChange()),
      ],
    }),
  });
  return {
    get text() { return view.state.doc.toString(); },
    set text(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
    },
    setLanguage(name) { view.dispatch({ effects: syntax.reconfigure(languages[name]()) }); },
    // mark shows where an error is; 0 takes the mark away.
    mark(line) { view.dispatch({ effects: setError.of(line) }); },
    goTo(line) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
      view.focus();
    },
    focus() { view.focus(); },
  };
}
