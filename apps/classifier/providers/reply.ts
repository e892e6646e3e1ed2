/**
 * Reads the text of a model as a category of the list: JSON, perhaps in a code fence, with reasoning or talk around it, inside another
 * object, in other letters, with a confidence in another format. Pure, never throws, and the work grows with the length of the text.
 *
 * Invariant: a text with two different categories, or with two different sets of categories if a document may have several, is no answer,
 * because the intended category is unknown.
 */
import { fold, foldHard, plain } from '../fold.ts'
import { isList, isObject, type JsonObject, type JsonValue, objectsIn } from './json-objects.ts'

export interface Reply {
  /** Spelled as in the list. */
  category: string
  /** From 0 to 1; null: the model gave no readable confidence. */
  confidence: number | null
  justification: string
  /** All categories in the order of the list, if a document may have several; `category` is the main category. */
  labels?: string[]
}

/** strange: the model names a category outside the list. several: the model names different categories. */
export type Read =
  | { is: 'reply'; reply: Reply }
  | { is: 'strange'; category: string }
  | { is: 'several' }
  | { is: 'garbage' }

const longestJustification = 1000
/** An answer has 800 tokens at most; of a longer text the end is read, because the answer follows the reasoning. */
const longestContent = 200_000

/** `several`: a document may have several categories; then every object with categories must name the same categories. */
export function readReply(written: string, categories: readonly string[], several = false): Read {
  const content = written.slice(-longestContent)
  const objects = objectsIn(isJson(content) ? content : withoutReasoning(content))
  if (several)
    return readSeveral(
      objects.map(object => namedIn(object, {}, severalNames)),
      categories,
    )
  const named = objects.flatMap(object => namedIn(object, {}))
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

function readSeveral(groups: readonly Named[][], categories: readonly string[]): Read {
  const answers = groups.filter(each => each.length > 0)
  const named = answers.at(-1)
  if (named === undefined) return { is: 'garbage' }
  if (new Set(answers.map(each => setOf(each, categories))).size > 1) return { is: 'several' }
  const meant = named.map(({ category }) => categoryLike(category, categories))
  const unknown = meant.indexOf(undefined)
  if (unknown >= 0) return { is: 'strange', category: plain(named[unknown]!.category, 100) }
  const { confidence, justification } = named[0]!
  return {
    is: 'reply',
    reply: {
      category: meant[0]!,
      labels: categories.filter(each => meant.includes(each)),
      confidence: confidenceOf(confidence),
      justification: typeof justification === 'string' ? plain(justification, longestJustification) : '',
    },
  }
}

/** A text that is equal for equal sets of categories. */
const setOf = (named: readonly Named[], categories: readonly string[]): string =>
  [...new Set(named.map(({ category }) => categoryLike(category, categories) ?? `? ${fold(category)}`))]
    .sort()
    .join('\n')

/** Compares exactly; then without case, accents and spaces; then without punctuation, if a single category matches. */
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
 * Accepts 0.93, "0,93", 93, "93", "93 %", "93,5 %". Above 1 a number is a percentage only from 2 to 100 without decimals, or with a
 * percent sign: 1.5 and 93.5 are ambiguous, and a wrong confidence is worse than none.
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

/** The fields beside a category, in the same object or in an object around it. */
interface Context {
  confidence?: JsonValue | undefined
  justification?: JsonValue | undefined
}

/** The requested names, and other names used by models if the requested names are missing. */
const categoryNames = ['categoria', 'category']
/** If a document may have several categories; the requested name first. */
const severalNames = ['categorias', 'categories', 'categoria', 'category', 'rotulos', 'labels']
const otherCategoryNames = ['classe', 'class', 'classificacao', 'classification']
const confidenceNames = ['confianca', 'confidence']
const justificationNames = ['justificativa', 'justification', 'motivo', 'reason']
/** Names in an object that is itself the category. */
const labelNames = ['nome', 'name', 'valor', 'value', 'rotulo', 'label', 'titulo', 'title']
/** The reasoning of a model before the answer is no answer. */
const reasoningNames = ['reasoning', 'reasoning content', 'thinking', 'thoughts', 'thought', 'raciocinio', 'pensamento']

/** Every category named by an object: in the object's own fields, otherwise in the objects inside. */
function namedIn(object: JsonObject, outer: Context, names: readonly string[] = categoryNames): Named[] {
  const context = contextOf(object, outer)
  const asked = fieldsLike(object, names)
  const own = asked.length > 0 ? asked : fieldsLike(object, otherCategoryNames)
  if (own.length > 0) return own.flatMap(value => namedBy(value, context, names))
  return object.fields.flatMap(([name, value]) =>
    isCalled(name, reasoningNames) ? [] : objectsOf(value).flatMap(each => namedIn(each, context, names)),
  )
}

/** Reads the value of a category field. */
function namedBy(value: JsonValue, context: Context, names: readonly string[]): Named[] {
  if (typeof value === 'string') return [{ category: value, ...context }]
  if (isList(value)) return value.flatMap(each => namedBy(each, context, names))
  if (!isObject(value)) return []
  const labels = fieldsLike(value, labelNames)
  const inside = namedIn(value, context, names)
  if (inside.length > 0) return inside
  return labels.flatMap(label => (typeof label === 'string' ? [{ category: label, ...contextOf(value, context) }] : []))
}

const contextOf = (object: JsonObject, outer: Context): Context => ({
  confidence: fieldsLike(object, confidenceNames)[0] ?? outer.confidence,
  justification: fieldsLike(object, justificationNames)[0] ?? outer.justification,
})

const objectsOf = (value: JsonValue): JsonObject[] =>
  isObject(value) ? [value] : isList(value) ? value.flatMap(objectsOf) : []

/** Finds fields by name, without case and accents. */
const fieldsLike = ({ fields }: JsonObject, names: readonly string[]): JsonValue[] =>
  fields.flatMap(([name, value]) => (isCalled(name, names) ? [value] : []))

const isCalled = (name: string, names: readonly string[]): boolean => name.length < 40 && names.includes(foldHard(name))

/** `<think>`, `</thinking>`, `[THINK]`, `◁/think▷` and similar tags of models around the reasoning. */
const reasoningTag =
  /[<[◁](\/?)(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)\b[^<>[\]◁▷]{0,100}[>\]▷]/giu
/** A model of the harmony format writes this before the answer; all text before is reasoning. */
const finalChannel = '<|channel|>final<|message|>'

/**
 * Removes the reasoning. A block without an end goes to the end of the text. An end without a beginning (some servers leave the beginning
 * in the prompt) makes all text before it reasoning.
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

/** In valid JSON, text like a tag is inside a string. */
function isJson(content: string): boolean {
  try {
    JSON.parse(content)
    return true
  } catch {
    return false
  }
}
