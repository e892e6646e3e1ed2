/** Checks the guards: punctual sweeps without errors. */
import { localized } from '../../errors/errors.ts'
import { type Check, ok, warning } from './doctor-check.ts'
import type { GuardFacts } from './doctor-facts.ts'

/** A failing guard comes before a late guard, and a late guard before a slow guard. */
export function checkGuards(guards: readonly GuardFacts[]): Check {
  const failing = guards.find(each => each.lastError !== null)
  const late = guards.filter(each => each.late).map(each => each.name)
  const slow = guards.find(each => each.warnings.length > 0)
  const many = guards.filter(each => each.lastError !== null).length
  if (failing !== undefined) {
    const { name, lastError } = failing
    const more = many > 1 ? ` (+${many - 1})` : ''
    return warning(
      'guards',
      localized(
        `the last sweep of ${name} failed: ${lastError!.en}${more}`,
        `a última busca de ${name} falhou: ${lastError!.pt}${more}`,
      ),
      localized('put it right; it is tried again by itself', 'corrija; ele tenta de novo sozinho'),
    )
  }
  if (late.length > 0)
    return warning(
      'guards',
      localized(`guards with a late sweep: ${late.join(', ')}`, `guards com varredura atrasada: ${late.join(', ')}`),
      localized(
        'start a process that has them in its code: retoma up, serve or worker; taken out of the code, they are forgotten after a week',
        'inicie um processo que os tenha no código: retoma up, serve ou worker; tirados do código, são esquecidos em uma semana',
      ),
    )
  if (slow !== undefined) {
    const [first] = slow.warnings
    return warning(
      'guards',
      localized(`${slow.name}: ${first!.en}`, `${slow.name}: ${first!.pt}`),
      localized(
        'it works, but costs more than it needs to, or sees less',
        'funciona, mas custa mais do que precisa, ou vê menos',
      ),
    )
  }
  return ok(
    'guards',
    guards.length === 0
      ? localized('there are none', 'não há nenhum')
      : localized(
          `guards that sweep when they should: ${guards.length}`,
          `guards que varrem quando devem: ${guards.length}`,
        ),
  )
}
