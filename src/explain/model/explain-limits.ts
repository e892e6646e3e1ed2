/** Explains a limit that blocks a job: concurrency or rate, of the queue or of the job's group. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { LimitFacts } from './explain-facts.ts'
import { counted, lasting, quoted, until } from './sentence-parts.ts'

/**
 * Returns the rest of a sentence; undefined: no limit blocks. Names a full concurrency limit, otherwise the rate limit with the
 * latest free instant.
 */
export function whyLimited(
  gates: readonly LimitFacts[],
  /** `queue` null: the subject of the sentence is the queue. */
  { queue, groupKey }: { queue: string | null; groupKey: string | null },
  now: Date,
): LocalizedText | undefined {
  const full = gates.filter(isFull)
  const gate = full.find(atOnce) ?? full.toSorted((a, b) => opens(b) - opens(a))[0]
  if (gate === undefined) return undefined
  const whose = gate.group
    ? localized(`its group ${quoted(groupKey ?? '')}`, `seu grupo ${quoted(groupKey ?? '')}`)
    : queue === null
      ? localized('it', 'ela')
      : localized(`queue ${quoted(queue)}`, `a fila ${quoted(queue)}`)
  if (atOnce(gate)) {
    const [n, of] = [counted(gate.running), counted(gate.concurrency!)]
    return localized(
      `${whose.en} may run ${of.en} at once and ${n.en} ${gate.running === 1 ? 'runs' : 'run'}`,
      `${whose.pt} pode rodar ${of.pt} por vez e ${n.pt} ${gate.running === 1 ? 'roda' : 'rodam'}`,
    )
  }
  const [limit, per] = [counted(gate.rate!), lasting(gate.perMs!)]
  const next = gate.freesAt === null ? '?' : until(gate.freesAt, now)
  return localized(
    `${whose.en} may start ${limit.en} in ${per} and has; the next may start in ${next}`,
    `${whose.pt} pode iniciar ${limit.pt} em ${per} e já iniciou; o próximo pode iniciar em ${next}`,
  )
}

const atOnce = ({ concurrency, running }: LimitFacts): boolean => concurrency !== null && running >= concurrency
const isFull = (gate: LimitFacts): boolean => atOnce(gate) || (gate.rate !== null && gate.starts >= gate.rate)
const opens = ({ freesAt }: LimitFacts): number => freesAt?.getTime() ?? 0
