/** The limits of a queue as short texts. */
import type { ItemOf } from '../../api/query.ts'
import type { Format } from '../../i18n/format.ts'
import type { Shape } from '../../i18n/messages.ts'
import type { queuesMessages } from './messages.ts'

export type Queue = ItemOf<'GET /api/v1/queues'>
export type Limits = Queue['limits']
type Words = Shape<(typeof queuesMessages)['en']>

export function limitTexts(
  { concurrency, rate, per_group, max_depth, fair }: Limits,
  words: Words,
  format: Format,
): string[] {
  return [
    concurrency === undefined ? undefined : words.atOnce(concurrency),
    rate === undefined ? undefined : words.perTime(rate.limit, format.duration(rate.per_ms)),
    per_group?.concurrency === undefined ? undefined : words.perGroup(per_group.concurrency),
    per_group?.rate === undefined
      ? undefined
      : words.perGroupTime(per_group.rate.limit, format.duration(per_group.rate.per_ms)),
    max_depth === undefined ? undefined : words.atMost(max_depth),
    fair === undefined ? undefined : fair === 'group' ? words.fairGroup : words.fairBatch,
  ].filter(text => text !== undefined)
}
