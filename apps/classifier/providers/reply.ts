/**
 * Reads what a model wrote as a category of the list: JSON, perhaps in a code fence, with reasoning or talk around it, inside another
 * object, in other letters, with a confidence written in its own way. Pure, never throws, and the work grows with the length of the text.
 *
 * Invariant: a text that names two different categories is no answer; nobody can tell which one was meant.
 */
import { fold, foldHard, plain } from '../fold.ts'
import { isList, isObject, type JsonObject, type JsonValue, objectsIn } from './json-objects.ts'

export interface Reply {
  /** As the list spells it. */
  category: string
  /** From 0 to 1; null: the model gave none that can be read. */
  confidence: number | null
  justification: string
}

/** strange: the model names a category that is not in the list. several: the model names categories that differ. */
export type Read =
  | { is: 'reply'; reply: Reply }
  | { is: 'strange'; category: string }
  | { is: 'several' }
  | { is: 'garbage' }

const longestJustification = 1000
/** An answer has 800 tokens at most; of a longer text the end, because the answer follows the reasoning. */
const longestContent = 200_000

export function readReply(written: string, categories: readonly string[]): Read {
  const content = written.slice(-longestContent)
  const named = objectsIn(isJson(content) ? content : withoutReasoning(content)).flatMap(object => namedIn(object, {}))
  const last = named.at(-1)
  if (last === undefined) return { is: 'garbage' }
  const meant = named.map(({ category }) => categoryLike(category, categories))
  const different = new Set(named.map(({ category }, n) => meant[n] ?? `? ${fold(category)}`))
  if (different.size > 1) return { is: 'several' }
  const category = meant.at(-1)
  if (category === undefined) return { is: 'strange', category: plain(last.category, 100) }
  const { confidence, justification } = last
  return {
    is: 'reply',
    reply: {
      category,
      confidence: confidenceOf(confidence),
      justification: typeof justification === 'string' ? plain(justification, longestJustification) : '',
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

/**
 * 0.93, "0,93", 93, "93", "93 %", "93,5 %". Above 1 a number is a percentage only from 2 to 100 without decimals, or with its sign:
 * 1.5 and 93.5 may be anything, and a wrong confidence is worse than none.
 */
function confidenceOf(said: JsonValue | undefined): number | null {
  const text = typeof said === 'number' ? String(said) : typeof said === 'string' ? said.trim().slice(0, 30) : ''
  const match = /^(\d+)(?:[.,](\d+))?\s*(%?)$/.exec(text)
  if (match === null) return null
  const [, whole, decimals, sign] = match
  const number = Number(`${whole}.${decimals ?? '0'}`)
  if (sign === '' && number <= 1) return number
  const isPercentage = sign !== '' ? number <= 100 : decimals === undefined && number >= 2 && number <= 100
  return isPercentage ? Number((number / 100).toFixed(6)) : null
}

interface Named extends Context {
  category: string
}

/** What stands beside a category, in its object or in one around it. */
interface Context {
  confidence?: JsonValue | undefined
  justification?: JsonValue | undefined
}

/** What was asked for, and what a model may call it where that is missing. */
const categoryNames = ['categoria', 'category']
const otherCategoryNames = ['classe', 'class', 'classificacao', 'classification']
const confidenceNames = ['confianca', 'confidence']
const justificationNames = ['justificativa', 'justification', 'motivo', 'reason']
/** In an object that is itself the category. */
const labelNames = ['nome', 'name', 'valor', 'value', 'rotulo', 'label', 'titulo', 'title']
/** What a model thinks before it answers is no answer. */
const reasoningNames = ['reasoning', 'reasoning content', 'thinking', 'thoughts', 'thought', 'raciocinio', 'pensamento']

/** Every category that an object names: by its own fields, or else by the objects inside of it. */
function namedIn(object: JsonObject, outer: Context): Named[] {
  const context = contextOf(object, outer)
  const asked = fieldsLike(object, categoryNames)
  const own = asked.length > 0 ? asked : fieldsLike(object, otherCategoryNames)
  if (own.length > 0) return own.flatMap(value => namedBy(value, context))
  return object.fields.flatMap(([name, value]) =>
    isCalled(name, reasoningNames) ? [] : objectsOf(value).flatMap(each => namedIn(each, context)),
  )
}

/** By the value of a field that is called a category. */
function namedBy(value: JsonValue, context: Context): Named[] {
  if (typeof value === 'string') return [{ category: value, ...context }]
  if (isList(value)) return value.flatMap(each => namedBy(each, context))
  if (!isObject(value)) return []
  const labels = fieldsLike(value, labelNames)
  const inside = namedIn(value, context)
  if (inside.length > 0) return inside
  return labels.flatMap(label => (typeof label === 'string' ? [{ category: label, ...contextOf(value, context) }] : []))
}

const contextOf = (object: JsonObject, outer: Context): Context => ({
  confidence: fieldsLike(object, confidenceNames)[0] ?? outer.confidence,
  justification: fieldsLike(object, justificationNames)[0] ?? outer.justification,
})

const objectsOf = (value: JsonValue): JsonObject[] =>
  isObject(value) ? [value] : isList(value) ? value.flatMap(objectsOf) : []

/** By their names in whatever letters. */
const fieldsLike = ({ fields }: JsonObject, names: readonly string[]): JsonValue[] =>
  fields.flatMap(([name, value]) => (isCalled(name, names) ? [value] : []))

const isCalled = (name: string, names: readonly string[]): boolean => name.length < 40 && names.includes(foldHard(name))

/** `<think>`, `</thinking>`, `[THINK]`, `◁/think▷` and their like, as models write them around their reasoning. */
const reasoningTag =
  /[<[◁](\/?)(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)\b[^<>[\]◁▷]{0,100}[>\]▷]/giu
/** Before its answer a model of the harmony format writes this; all that stands before is reasoning. */
const finalChannel = '<|channel|>final<|message|>'

/**
 * The text without its reasoning. A block that does not end goes to the end of the text. An end without a beginning, which some
 * servers leave in the prompt, ends what stands before it.
 */
function withoutReasoning(content: string): string {
  const final = content.lastIndexOf(finalChannel)
  const text = final < 0 ? content : content.slice(final + finalChannel.length)
  let kept = ''
  let from = 0
  let isReasoning = false
  for (const { 0: tag, 1: slash, index } of text.matchAll(reasoningTag)) {
    if (slash === '/') {
      if (!isReasoning) kept = ''
      isReasoning = false
      from = index + tag.length
    } else if (!isReasoning) {
      kept += `${text.slice(from, index)}\n`
      isReasoning = true
    }
  }
  return isReasoning ? kept : kept + text.slice(from)
}

/** Then whatever looks like a tag stands in one of its strings. */
function isJson(content: string): boolean {
  try {
    JSON.parse(content)
    return true
  } catch {
    return false
  }
}
