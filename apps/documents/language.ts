/** Detects whether a text is Portuguese or English, by the most frequent words of both. */

const portuguese =
  'de a o que e do da em um para com não uma os no se na por mais as dos como mas ao das à ou quando muito nos já eu também só pelo pela até isso entre depois sem mesmo aos seus quem nas esse você foi são está ser pelos cada pode este esta sobre conforme'
const english =
  'the of and to in is that for it with as was on be by this are at from or an have not which but they his you were we can all there has their more will would its been if other who may shall any such each these into'

const wordsOf = (list: string): ReadonlySet<string> => new Set(list.split(' '))
const words = { pt: wordsOf(portuguese), en: wordsOf(english) }

/** Characters that are looked at. */
const enough = 20_000
/** Fewer known words decide nothing. */
const fewest = 5

/** null: another language, or too little text. */
export function languageOf(text: string): 'pt' | 'en' | null {
  let pt = 0
  let en = 0
  let all = 0
  for (const [word] of text
    .slice(0, enough)
    .toLowerCase()
    .normalize('NFC')
    .matchAll(/\p{L}+/gu)) {
    all++
    if (words.pt.has(word)) pt++
    if (words.en.has(word)) en++
  }
  const [language, most, other] = pt >= en ? (['pt', pt, en] as const) : (['en', en, pt] as const)
  // In a text of a language, a fifth of the words and more are among its most frequent words.
  return most >= fewest && most >= 1.5 * other && most * 8 >= all ? language : null
}
