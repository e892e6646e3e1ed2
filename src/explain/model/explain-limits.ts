/** Explains a limit that blocks a job: concurrency or rate, of the queue or of the job's group. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { LimitFacts } from './explain-facts.ts'
import { counted, lasting, quoted, until } from './sentence-parts.ts'

/**
 * Returns the rest of a sentence; undefined: no limit blocks. Names a full concurrency limit, otherwise the rate limit with the
 * latest free instant.
 */
export function whyLimited(
  limits: readonly LimitFacts[],
  /** `queue` null: the subject of the sentence is the queue. */
  { queue, groupKey }: { queue: string | null; groupKey: string | null },
  now: Date,
): LocalizedText | undefined {
  const full = limits.filter(isFull)
  const limit = full.find(atOnce) ?? full.toSorted((a, b) => opens(b) - opens(a))[0]
  if (limit === undefined) return undefined
  const whose = limit.group
    ? localized(`its group ${quoted(groupKey ?? '')}`, `seu grupo ${quoted(groupKey ?? '')}`)
    : queue === null
      ? localized('it', 'ela')
      : localized(`queue ${quoted(queue)}`, `a fila ${quoted(queue)}`)
  if (atOnce(limit)) {
    const [n, of] = [counted(limit.running), counted(limit.concurrency!)]
    return localized(
      `${whose.en} may run ${of.en} at once and ${n.en} ${limit.running === 1 ? 'runs' : 'run'}`,
      `${whose.pt} pode rodar ${of.pt} por vez e ${n.pt} ${limit.running === 1 ? 'roda' : 'rodam'}`,
    )
  }
  const [most, per] = [counted(limit.rate!), lasting(limit.perMs!)]
  const next = limit.freesAt === null ? '?' : until(limit.freesAt, now)
  return localized(
    `${whose.en} may start ${most.en} in ${per} and has; the next may start in ${next}`,
    `${whose.pt} pode iniciar ${most.pt} em ${per} e já iniciou; o próximo pode iniciar em ${next}`,
  )
}

const atOnce = ({ concurrency, running }: LimitFacts): boolean => concurrency !== null && running >= concurrency
const isFull = (limit: LimitFacts): boolean => atOnce(limit) || (limit.rate !== null && limit.starts >= limit.rate)
const opens = ({ freesAt }: LimitFacts): number => freesAt?.getTime() ?? 0
