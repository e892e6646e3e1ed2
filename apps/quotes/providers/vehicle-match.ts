/**
 * Finds a vehicle in the lists of FIPE by a name that a person or a model wrote: "Chevrolet Onix LTZ 1.4 automático" is
 * "ONIX HATCH LTZ 1.4 8V FlexPower 5p Aut." of "GM - Chevrolet". Pure functions over words; a score from 0 to 1 tells how sure the match is.
 *
 * The score: the share of the words of the question that the name has, weighted (numbers such as "1.4" and the first word count twice),
 * reduced a little for each word that only the name has.
 */
import type { VehicleEntry } from './types.ts'

export interface VehicleMatch extends VehicleEntry {
  /** From 0 to 1. */
  score: number
}

/** Below this score a name is another vehicle. */
export const leastScore = 0.5

/** The best matches first; equal scores keep the order of the list. */
export function matchVehicle(name: string, entries: readonly VehicleEntry[]): VehicleMatch[] {
  const asked = wordsOf(name)
  return entries
    .map(entry => ({ ...entry, score: scoreOf(asked, wordsOf(entry.name)) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
}

/** The year of a model, by year and fuel. null: the list has no such year. `year` null: a new vehicle, otherwise the newest year. */
export function matchYear(
  { year, fuel }: { year: number | null; fuel: string | null },
  entries: readonly VehicleEntry[],
): VehicleMatch | null {
  const yearIn = ({ code, name }: VehicleEntry) => Number(/^\d{4,5}/.exec(code)?.[0] ?? /\d{4,5}/.exec(name)?.[0] ?? 0)
  const years = entries.map(yearIn)
  const wanted = year ?? Math.max(...years, 0)
  const same = entries.filter((_, index) => years[index] === wanted)
  const asked = wordsOf(fuel ?? '')
  const scored = same.map(entry => ({ ...entry, score: fuelScore(asked, wordsOf(entry.name)) }))
  return scored.sort((one, other) => other.score - one.score)[0] ?? null
}

const fuelScore = (asked: readonly string[], name: readonly string[]): number =>
  asked.length === 0 || asked.some(word => name.some(each => likeness(word, each) > 0.7)) ? 1 : 0.7

/** Different words for the same. The right side is how FIPE writes. */
const synonyms: Readonly<Record<string, string>> = {
  automatico: 'aut',
  automatica: 'aut',
  automatic: 'aut',
  cvt: 'aut',
  manual: 'mec',
  mecanico: 'mec',
  portas: 'p',
  volkswagen: 'vw',
  chevrolet: 'gm',
  turbo: 'tb',
  flexpower: 'flex',
  totalflex: 'flex',
  etanol: 'flex',
  alcool: 'flex',
  cabine: 'cab',
  dupla: 'dup',
}

/** Words that say nothing: articles, and "km" of "0 km". */
const empty = new Set(['de', 'do', 'da', 'com', 'e', 'o', 'a', 'km', 'ano', 'modelo'])

function wordsOf(text: string): string[] {
  const plain = text
    .slice(0, 300)
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/(\d),(\d)/g, '$1.$2')
  const words = plain.match(/\d+\.\d+|[a-z]+-\d+|\d+[a-z]\b|[a-z]+|\d+/g) ?? []
  const known = words
    .flatMap(word => (/^[a-z]+-\d+$/.test(word) ? [word.replace('-', '')] : [word]))
    .filter(word => !empty.has(word))
  return [...new Set(known)].slice(0, 40)
}

function scoreOf(asked: readonly string[], name: readonly string[]): number {
  if (asked.length === 0 || name.length === 0) return 0
  const free = new Set(name)
  let found = 0
  let whole = 0
  for (const [index, word] of asked.entries()) {
    const weight = weightOf(word, index)
    whole += weight
    let best = 0
    let which: string | undefined
    for (const each of free) {
      const like = likeness(word, each)
      if (like > best) [best, which] = [like, each]
    }
    if (which !== undefined && best > 0) free.delete(which)
    found += weight * best
  }
  const share = found / whole
  // Each further word of the name makes another version more likely.
  const rest = free.size / (free.size + asked.length * 4)
  return Math.round(share * (1 - rest / 2) * 1000) / 1000
}

const weightOf = (word: string, index: number): number => (index === 0 ? 2 : 1) * (/^\d+\.\d+$/.test(word) ? 2 : 1)

/** 1: the same word; 0.99: another word for the same; 0.8: the beginning of the word, or one letter is different; 0: another word. */
function likeness(one: string, other: string): number {
  if (one === other) return 1
  if ((synonyms[one] ?? one) === (synonyms[other] ?? other)) return 0.99
  if (/\d/.test(one) || /\d/.test(other)) return joined(one) === joined(other) ? 1 : 0
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (short.length >= 3 && long.startsWith(short)) return 0.8
  return short.length >= 5 && isOneEditAway(short, long) ? 0.8 : 0
}

const joined = (word: string): string => word.replace(/[^a-z0-9.]/g, '')

function isOneEditAway(short: string, long: string): boolean {
  if (long.length - short.length > 1) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  const skip = short.length === long.length ? 1 : 0
  return short.slice(at + skip) === long.slice(at + 1)
}
