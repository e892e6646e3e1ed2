/**
 * What a model wrote, as a category of the list: JSON, perhaps in a code fence or with talk around it, in other letters, with
 * a confidence written in some way of its own. Pure, and never throws.
 */
import { fold, foldHard, plain } from '../fold.ts'

export interface Reply {
  /** As the list spells it. */
  category: string
  /** From 0 to 1; null: it said none that can be read. */
  confidence: number | null
  justification: string
}

/** strange: it names a category, but none of the list. */
export type Read = { is: 'reply'; reply: Reply } | { is: 'strange'; category: string } | { is: 'garbage' }

const longestJustification = 1000
/** Beginnings of an object that are tried, in a text that is none as a whole. */
const mostBeginnings = 20

export function readReply(content: string, categories: readonly string[]): Read {
  const found = objectIn(content)
  if (found === undefined) return { is: 'garbage' }
  const said = fieldLike(found, ['categoria', 'category', 'classe', 'classificacao'])
  if (typeof said !== 'string') return { is: 'garbage' }
  const category = categoryLike(said, categories)
  if (category === undefined) return { is: 'strange', category: plain(said, 100) }
  const why = fieldLike(found, ['justificativa', 'justification', 'motivo', 'reason'])
  return {
    is: 'reply',
    reply: {
      category,
      confidence: confidenceOf(fieldLike(found, ['confianca', 'confidence'])),
      justification: typeof why === 'string' ? plain(why, longestJustification) : '',
    },
  }
}

/** As it stands; else by case, accents and spaces; else without punctuation, where that leaves but one. */
function categoryLike(said: string, categories: readonly string[]): string | undefined {
  const exact = categories.find(each => each === said)
  if (exact !== undefined) return exact
  const alike = categories.find(each => fold(each) === fold(said))
  if (alike !== undefined) return alike
  const hard = foldHard(said)
  const left = hard === '' ? [] : categories.filter(each => foldHard(each) === hard)
  return left.length === 1 ? left[0] : undefined
}

/** 0.93, 93, "0,93", "93 %". */
function confidenceOf(said: unknown): number | null {
  const text = typeof said === 'number' ? String(said) : typeof said === 'string' ? said.trim() : ''
  const match = /^(\d+(?:[.,]\d+)?)\s*(%?)$/.exec(text)
  if (match === null) return null
  const number = Number(match[1]!.replace(',', '.'))
  const share = match[2] === '%' || number > 1 ? number / 100 : number
  return share <= 1 ? share : null
}

function objectIn(content: string): Record<string, unknown> | undefined {
  const fenced = /```[a-z]*\s*([\s\S]*?)```/i.exec(content)?.[1]
  for (const text of [content, fenced]) {
    const whole = text === undefined ? undefined : parsed(text)
    if (whole !== undefined) return whole
  }
  let from = content.indexOf('{')
  for (let tries = 0; from >= 0 && tries < mostBeginnings; tries++) {
    const to = closing(content, from)
    const part = to === undefined ? undefined : parsed(content.slice(from, to + 1))
    if (part !== undefined) return part
    from = content.indexOf('{', from + 1)
  }
  return undefined
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const one = Array.isArray(value) && value.length === 1 ? value[0] : value
    return typeof one === 'object' && one !== null && !Array.isArray(one) ? (one as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Where the object that begins there ends. */
function closing(text: string, from: number): number | undefined {
  let depth = 0
  let inText = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (inText && char === '\\') at++
    else if (char === '"') inText = !inText
    else if (inText) continue
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) return at
  }
  return undefined
}

/** By its name in whatever letters. */
const fieldLike = (object: Record<string, unknown>, names: readonly string[]): unknown =>
  Object.entries(object).find(([name]) => names.includes(foldHard(name)))?.[1]
