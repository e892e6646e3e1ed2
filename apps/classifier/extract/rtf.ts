/**
 * Reads the text of RTF in a single pass: groups, control words, characters by code page (`\'e7`) and by Unicode (`\u231`). Runs in a
 * separate process (read.ts). The parsers on npm are not kept up, and allocate what `\bin` declares.
 *
 * Invariant: no recursion, and memory for the open groups only, within `mostGroups`.
 */
import { TextCollector } from './collect.ts'
import type { Parts } from './excerpt.ts'
import { fromWindows } from './plain.ts'

/** Destinations without text of the document. */
const unread = new Set([
  ...['fonttbl', 'colortbl', 'stylesheet', 'info', 'pict', 'object', 'themedata', 'colorschememapping', 'datastore'],
  ...[
    'listtable',
    'listoverridetable',
    'rsidtbl',
    'generator',
    'filetbl',
    'revtbl',
    'latentstyles',
    'fldinst',
    'xmlnstbl',
  ],
  ...['wgrffmtfilter', 'mmathPr', 'pnseclvl', 'bkmkstart', 'bkmkend', 'nonshppict'],
])
const breaks: Readonly<Record<string, string>> = {
  par: '\n',
  line: '\n',
  sect: '\n',
  page: '\n',
  row: '\n',
  cell: '\t',
  tab: '\t',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
}
const symbols: Readonly<Record<string, string>> = {
  '\\': '\\',
  '{': '{',
  '}': '}',
  '~': ' ',
  _: '-',
  '\n': '\n',
  '\r': '\n',
}

const mostGroups = 100_000

interface Group {
  isHidden: boolean
  /** Hidden or deleted characters. */
  isVanished: boolean
  /** Characters after `\u` that stand for the same character in old programs. */
  skip: number
}

/** null: no RTF, or more open groups than any program writes. */
export function readRtf(bytes: Buffer): Parts | null {
  const rtf = bytes.toString('latin1')
  if (!rtf.startsWith('{\\rtf')) return null
  const text = new TextCollector()
  const groups: Group[] = []
  let group: Group = { isHidden: false, isVanished: false, skip: 1 }
  let isStart = false
  let skipped = 0
  const add = (some: string) => {
    if (group.isHidden || group.isVanished) return
    const shown = some.slice(skipped)
    skipped = Math.max(skipped - some.length, 0)
    if (shown !== '') text.add(shown)
  }
  const token = /([{}])|\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([^\\{}\r\n]+)/gi
  for (let found = token.exec(rtf); found !== null; found = token.exec(rtf)) {
    const [, brace, word, parameter, hex, symbol, plain] = found
    if (brace === '{') {
      if (groups.length >= mostGroups) return null
      groups.push(group)
      group = { ...group }
      isStart = true
      continue
    }
    if (brace === '}') group = groups.pop() ?? group
    else if (word !== undefined) {
      if (isStart && unread.has(word)) group.isHidden = true
      if (word === 'v' || word === 'deleted') group.isVanished = parameter !== '0'
      else if (word === 'plain') group.isVanished = false
      else if (word === 'bin') token.lastIndex += Math.max(Number(parameter ?? 0), 0)
      else if (word === 'uc') group.skip = Math.min(Math.max(Number(parameter ?? 1), 0), 10)
      else if (word === 'u' && parameter !== undefined) {
        add(String.fromCharCode(Number(parameter) & 0xffff))
        if (!group.isHidden && !group.isVanished) skipped = group.skip
      } else if (breaks[word] !== undefined) add(breaks[word])
    } else if (hex !== undefined) add(fromWindows(Buffer.from(hex, 'hex')))
    else if (symbol === '*') group.isHidden = true
    else if (symbol !== undefined) add(symbols[symbol] ?? '')
    else if (plain !== undefined) add(fromWindows(Buffer.from(plain, 'latin1')))
    isStart = false
  }
  return text.parts()
}
