"""The style of reports: plain CSS for screens in light and dark, for phones, and for paper."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5a6475; --paper: #ffffff; --card: #f5f7fa;
  --line: #d9dfe7; --blue: #0072b2; --good: #e5f4ee; --good-edge: #009e73; --bad: #fdeee3; --bad-edge: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2acba; --paper: #14171c; --card: #1d2229;
  --line: #343b46; --blue: #56b4e9; --good: #12291f; --good-edge: #2fbf94; --bad: #331d0e; --bad-edge: #f08a3c; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 3.5rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; }
header, main, footer { max-width: 70rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { margin: 0 0 .75rem; font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.75rem 0 1rem; padding-bottom: .3rem; font-size: 1.35rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 .5rem; font-size: 1.05rem; }
a { color: var(--blue); }
nav { position: sticky; top: 0; z-index: 1; display: flex; gap: 1.25rem; margin-top: 1.5rem; padding: .65rem 1.25rem;
  overflow-x: auto; background: var(--paper); border-block: 1px solid var(--line); }
nav a { white-space: nowrap; text-decoration: none; font-size: .95rem; }
nav a:hover { text-decoration: underline; }
@media (min-width: 72.5rem) { nav { padding-inline: calc((100vw - 70rem) / 2 + 1.25rem); } }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.4rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.facts div { padding: .7rem .9rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.facts dt { font-size: .8rem; color: var(--soft); }
.facts dd { margin: 0; font-size: 1.1rem; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.note, .good, .bad { margin: .6rem 0; padding: .7rem .95rem; border-left: .3rem solid var(--line);
  border-radius: .25rem; background: var(--card); overflow-wrap: anywhere; }
.good { background: var(--good); border-color: var(--good-edge); }
.bad { background: var(--bad); border-color: var(--bad-edge); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 1rem; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td { max-width: 40rem; overflow-wrap: break-word; }
figure { margin: 1.25rem 0 1.75rem; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: .5rem; }
figure iframe { display: block; border: 1px solid var(--line) !important; border-radius: .5rem; max-height: 75vh; }
figcaption { margin-top: .5rem; font-size: .88rem; color: var(--soft); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem;
  align-items: start; }
@media (prefers-color-scheme: dark) { figure img, figure iframe { filter: invert(.915) hue-rotate(180deg); } }
pre { padding: .9rem 1rem; overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; font: .85rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--blue); }
footer { margin-top: 3rem; padding-block: 1rem 2rem; color: var(--soft); font-size: .85rem; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --paper: #fff; --card: #fff; --line: #bbb; }
  nav, figure:has(iframe) { display: none; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding-inline: 0; }
  h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
  figure img { filter: none !important; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
