/** Throws the errors for invalid options and definitions: the name of the option, with the reason in both languages. */

import { suggestion } from './did-you-mean.ts'
import { type LocalizedText, localized, RetomaError } from './errors.ts'
import { peerHint } from './peer-words.ts'

/** The word of a peer first: a name near the word by chance would mislead. */
export const hintForOption = (option: string, known: readonly string[]): LocalizedText =>
  peerHint(option, known) ?? suggestion(option, known)

export type Refuse = (en: string, pt: string) => never

/** Refuses an option of a call. */
export function refuseOption(option: string, en: string, pt: string): never {
  throw new RetomaError('bad_option', { option, problem: localized(en, pt) })
}

/** `within`: prefix of the option names, such as `limits.`. */
export function refuseUnknownOptions(given: object, known: readonly string[], within = ''): void {
  if (typeof given !== 'object' || Array.isArray(given)) {
    const shape = `{ ${known.join(', ')} }`
    refuseOption(within.slice(0, -1) || 'options', `it is an object ${shape}`, `é um objeto ${shape}`)
  }
  for (const option of Object.keys(given)) {
    if (known.includes(option)) continue
    const hint = hintForOption(option, known)
    refuseOption(`${within}${option}`, `there is no such option${hint.en}`, `não existe essa opção${hint.pt}`)
  }
}

/** Refuses a definition (`defineJob`, `defineBatch` …). */
export const refuseDefinition =
  (what: LocalizedText): Refuse =>
  (en, pt) => {
    throw new RetomaError('bad_definition', { what, problem: localized(en, pt) })
  }

/** `within`: prefix of the option names in the definition, such as `backoff.`. */
export function refuseUnknown(given: object, known: readonly string[], refuse: Refuse, within = ''): void {
  for (const option of Object.keys(given)) {
    if (known.includes(option)) continue
    const hint = hintForOption(option, known)
    refuse(`there is no option "${within}${option}"${hint.en}`, `não existe a opção "${within}${option}"${hint.pt}`)
  }
}
