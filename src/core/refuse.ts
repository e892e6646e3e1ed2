/** How a door refuses what it was given: by the name of what is wrong, with the reason in both languages. */
import { RetomaError, type Saying, say } from '../errors.ts'
import { suggestion } from './suggest.ts'

export type Refuse = (en: string, pt: string) => never

/** An option of a call. */
export function refuseOption(option: string, en: string, pt: string): never {
  throw new RetomaError('bad_option', { option, problem: say(en, pt) })
}

/** `within`: where they stand, such as `limits.`. */
export function refuseUnknownOptions(given: object, known: readonly string[], within = ''): void {
  for (const option of Object.keys(given)) {
    if (known.includes(option)) continue
    const hint = suggestion(option, known)
    refuseOption(`${within}${option}`, `there is no such option${hint.en}`, `não existe essa opção${hint.pt}`)
  }
}

/** What a define… was given. */
export const refuseDefinition =
  (what: Saying): Refuse =>
  (en, pt) => {
    throw new RetomaError('bad_definition', { what, problem: say(en, pt) })
  }

/** `within`: where in the definition those options stand, such as `backoff.`. */
export function refuseUnknown(given: object, known: readonly string[], refuse: Refuse, within = ''): void {
  for (const option of Object.keys(given)) {
    if (known.includes(option)) continue
    const hint = suggestion(option, known)
    refuse(`there is no option "${within}${option}"${hint.en}`, `não existe a opção "${within}${option}"${hint.pt}`)
  }
}
