/**
 * Reads a source file as far as the architecture test needs: what it imports, its strings, and its code without either
 * comments or strings, so that a word in a sentence or in a printed example is never taken for code.
 */
interface Import {
  from: string
  /** `import type …`, which leaves nothing behind after compiling. */
  typeOnly: boolean
}

export interface Source {
  /** The text with comments and the inside of strings blanked; every character keeps its place. */
  code: string
  /** The inside of each string or template, whole, with `${…}` as it is written. */
  strings: string[]
  imports: Import[]
}

export function readSource(text: string): Source {
  const code = text.split('')
  const strings: string[] = []
  const blank = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (code[i] !== '\n') code[i] = ' '
  }

  /** Reads code from `at` up to the end, or up to the brace that closes a `${`; answers the place after it. */
  function readCode(at: number, inTemplate: boolean): number {
    let depth = 0
    while (at < text.length) {
      const end = commentEnd(text, at) ?? regexEnd(text, at)
      const character = text[at]!
      if (end !== undefined) {
        blank(at, end)
        at = end
      } else if (character === "'" || character === '"') at = readString(at, character)
      else if (character === '`') at = readTemplate(at)
      else {
        if (character === '{') depth++
        if (character === '}' && depth-- === 0 && inTemplate) return at + 1
        at++
      }
    }
    return at
  }

  function readString(start: number, quote: string): number {
    let at = start + 1
    while (at < text.length && text[at] !== quote && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1
    strings.push(text.slice(start + 1, at))
    blank(start + 1, at)
    return at + 1
  }

  function readTemplate(start: number): number {
    let at = start + 1
    let plainFrom = at
    while (at < text.length && text[at] !== '`') {
      if (text[at] === '\\') at += 2
      else if (text.startsWith('${', at)) {
        blank(plainFrom, at)
        at = readCode(at + 2, true)
        plainFrom = at
      } else at++
    }
    blank(plainFrom, at)
    strings.push(text.slice(start + 1, at))
    return at + 1
  }

  readCode(0, false)
  const bare = code.join('')
  return { code: bare, strings, imports: importsOf(bare, text) }
}

function commentEnd(text: string, at: number): number | undefined {
  if (text.startsWith('//', at)) return endOf(text, '\n', at)
  if (text.startsWith('/*', at)) return endOf(text, '*/', at + 2) + 2
  return undefined
}

const endOf = (text: string, what: string, from: number) => {
  const found = text.indexOf(what, from)
  return found === -1 ? text.length : found
}

/** A slash begins a regular expression where a value may begin; after a value it divides. */
function regexEnd(text: string, at: number): number | undefined {
  if (text[at] !== '/' || !/(?:^|[([{,;:=!&|?+>]|\breturn|\bcase)\s*$/.test(text.slice(Math.max(0, at - 40), at)))
    return
  const rest = /^\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/.exec(text.slice(at))
  return rest ? at + rest[0].length : undefined
}

const importShapes = [
  /\b(?:import|export)\s+(type\s+)?(?:[\w*${}\s,]+?)\s+from\s*(['"])/g,
  /\bimport()\s*(['"])/g,
  /\bimport()\s*\(\s*(['"])/g,
]

function importsOf(code: string, text: string): Import[] {
  return importShapes.flatMap(shape =>
    [...code.matchAll(shape)].map(match => {
      const start = match.index + match[0].length
      return { from: text.slice(start, text.indexOf(match[2]!, start)), typeOnly: Boolean(match[1]) }
    }),
  )
}
