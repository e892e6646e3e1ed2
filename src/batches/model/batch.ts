/**
 * Checks `defineBatch`: many jobs of a kind with a common progress. Other code trusts the returned batch. The policy is stored
 * with every submitted batch, so that any process can judge the batch.
 */

import { localized } from '../../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from '../../errors/invalid-option.ts'
import { type AnyJob, isJob, type Job } from '../../jobs/model/job.ts'
import { storedVersion } from '../../jobs/model/kind-version.ts'
import type { JobPolicy, PolicyAction } from '../../jobs/model/policy.ts'
import { actions, type ItemOptions, itemPolicy } from '../../jobs/model/policy-options.ts'
import { type OwnRetention, ownRetention, type Retention } from '../../jobs/model/retention.ts'
import { type Duration, longestDuration } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { mostWeight } from '../../lib/values/weight.ts'
import { type BatchAbout, checkAbout } from './batch-display.ts'

/** Pauses the batch for a person after so many failures, or after such a percentage of failures among the ended items. */
export interface StopAfter {
  /** Stops the batch after so many failed items. Default: no limit. */
  failures?: number
  /**
   * Stops the batch if so many percent of the ended items failed. Checked from twenty ended items on. Default: no
   * limit.
   */
  percent?: number
  /**
   * Pauses the batch after failures of so many different items in a row with the same fingerprint, without a success
   * in between. A single item per minute then runs, until an item does not fail; then the batch resumes
   * automatically. Default: no limit.
   */
  sameCause?: number
}

/** Input of the onComplete job. */
export interface BatchEnd {
  batch: string
  name: string
  total: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  /** 1 for the first completion; more after a person ran jobs of the batch again. */
  end: number
}

/** Incidents of a batch with a notice (docs/notify.md). `paused`: by the engine, not by a person. */
const tellable = ['stalled', 'failed', 'paused', 'succeeded', 'completed_with_failures'] as const
/** An incident of a batch with a notice. */
export type BatchNotice = (typeof tellable)[number]

/** The checked options of a batch. */
export interface BatchPolicy {
  stallAfter: Duration | null
  onStall: PolicyAction
  maxResumes: number
  stopAfter: StopAfter | null
  onComplete: { kind: string; queue: string; version: number | null; retention?: OwnRetention } | null
  /** Default: all. */
  notify?: readonly BatchNotice[]
  /** Policy override for the items; absent: the policy of the kind applies. Default: none. */
  items?: Partial<JobPolicy>
  /** Name of the batch for people. Default: none. */
  about?: BatchAbout
  /** The retention by final state; a missing state: the retention of the engine. Default: none. */
  retention?: OwnRetention
  /** Items in one turn, in a queue whose batches take turns. Default: the weight of the name in the limits of the queue. */
  weight?: number
}

/** A batch definition, for `submit`. */
export interface Batch<Input = never> {
  readonly name: string
  readonly job: Job<Input, unknown>
  readonly onComplete: AnyJob | null
  readonly policy: BatchPolicy
}

/** Any batch, with any input of the items. */
// biome-ignore lint/suspicious/noExplicitAny: a list of batches of different items has no narrower type
export type AnyBatch = Batch<any>

/** Options of `defineBatch`. */
// biome-ignore lint/suspicious/noExplicitAny: the input of a job that is not named may be any
export interface BatchOptions<Input, End = any> {
  /** The name of the batch, unique in an engine. */
  name: string
  /** The job of the items. */
  job: Job<Input, unknown>
  /** The batch is stalled after so long without the end of an attempt. Default: never. */
  stallAfter?: Duration
  /** Default: stall. */
  onStall?: PolicyAction
  /** Number of resumes by a person; the next stall makes the batch `failed`. Default 3. */
  maxResumes?: number
  /** Default: continue after any number of failures. */
  stopAfter?: StopAfter
  /** Policy override for the items: `items: { maxAttempts: 5 }`. Default: the policy of the job. */
  items?: ItemOptions
  /**
   * The time a batch and its items stay after the end of the batch: a duration, or a duration for each final state; the duration of `failed`
   * counts for `completed_with_failures` too. Default: `retention` of the engine, 90 days.
   */
  retention?: Retention
  /**
   * Enqueued once per completion with a `BatchEnd` as input: a job with such an input, or without input. Default:
   * none.
   */
  onComplete?: Job<End, unknown> &
    ([BatchEnd] extends [NoInfer<End>]
      ? unknown
      : [NoInfer<End>] extends [undefined]
        ? unknown
        : { readonly 'its input is not what a batch gives it: a BatchEnd': never })
  /** Notices about the batch, if a webhook is set. Default: stalled, failed, paused by the engine, succeeded, completed_with_failures. */
  notify?: readonly BatchNotice[]
}

/** Options of a submit in place of the options of the definition. null: switches the option of the definition off. */
export interface BatchOverrides {
  /**
   * The batch is stalled after so long without the end of an attempt; null: never. Default: the option of the
   * definition.
   */
  stallAfter?: Duration | null
  /** What happens then. Default: the option of the definition. */
  onStall?: PolicyAction
  /** Number of resumes by a person. Default: the option of the definition. */
  maxResumes?: number
  /** Failures that stop the batch; null: none. Default: the option of the definition. */
  stopAfter?: StopAfter | null
  /** Policy override for the items. Default: the option of the definition. */
  items?: ItemOptions
  /** The time the batch and its items stay after the end of the batch. Default: the option of the definition. */
  retention?: Retention
  /** Name of the batch for people, for the notices. Default: the name of the definition. */
  about?: BatchAbout
  /**
   * Items in one turn, in a queue with `fair: 'batch'`: a whole number from 1 to 100. Default: the weight of the name of the batch in the
   * limits of the queue, 1 otherwise.
   */
  weight?: number
}

export const batchOverrides = [
  'stallAfter',
  'onStall',
  'maxResumes',
  'stopAfter',
  'items',
  'retention',
  'about',
  'weight',
] as const
// `about` and `weight` belong to a single batch; the limits of the queue have the weight of a definition.
const ofOneBatch: readonly string[] = ['about', 'weight']
const known = ['name', 'job', ...batchOverrides.filter(each => !ofOneBatch.includes(each)), 'onComplete', 'notify']

/**
 * Defines a batch: many jobs of a kind with one progress and one end. Throws `bad_definition`.
 *
 * @example
 * const classification = defineBatch({ name: 'classification', job: classify, stallAfter: minutes(5), onComplete: report })
 * const { id } = await engine.submit(classification, documents)
 */
export function defineBatch<Input, End = undefined>(given: BatchOptions<Input, End>): Batch<Input> {
  const name = typeof given?.name === 'string' ? given.name : ''
  const refuse: Refuse = refuseDefinition(
    name ? localized(`the batch "${name}"`, `lote "${name}"`) : localized('a batch', 'lote'),
  )
  if (given === null || typeof given !== 'object')
    refuse('defineBatch takes one object with name and job', 'defineBatch recebe um objeto com name e job')
  refuseUnknown(given, known, refuse)
  if (!namePattern.test(name)) refuse(`name must be ${nameRule.en}`, `name deve ter ${nameRule.pt}`)
  const { job, onComplete } = given
  if (!isJob(job)) refuse('job must be made by defineJob', 'job deve ser feito por defineJob')
  if (onComplete !== undefined && !isJob(onComplete))
    refuse('onComplete must be a job made by defineJob', 'onComplete deve ser um job feito por defineJob')
  const { notify } = given
  if (notify !== undefined && !(Array.isArray(notify) && notify.every(each => tellable.includes(each))))
    refuse(`what notify lists is of: ${tellable.join(', ')}`, `o que notify lista é de: ${tellable.join(', ')}`)
  const bare: BatchPolicy = {
    stallAfter: null,
    onStall: 'stall',
    maxResumes: 3,
    stopAfter: null,
    onComplete:
      onComplete === undefined
        ? null
        : {
            kind: onComplete.kind,
            queue: onComplete.queue,
            version: storedVersion(onComplete.version),
            ...(onComplete.retention === null ? {} : { retention: onComplete.retention }),
          },
    ...(notify === undefined ? {} : { notify }),
  }
  return {
    name,
    job,
    onComplete: onComplete ?? null,
    policy: layOver(bare, job.policy, given, () => refuse),
  }
}

/** Returns the policy of a submit: the given options over the options of the definition. `refuse`: by option. */
export const submittedPolicy = (
  { policy, job }: AnyBatch,
  asked: BatchOverrides,
  refuse: (option: string) => Refuse,
): BatchPolicy => layOver(policy, job.policy, asked, refuse)

function layOver(
  below: BatchPolicy,
  kind: JobPolicy,
  given: BatchOverrides,
  refuse: (option: string) => Refuse,
): BatchPolicy {
  const { stallAfter = below.stallAfter, onStall = below.onStall, maxResumes = below.maxResumes, stopAfter } = given
  if (stallAfter !== null && !(stallAfter > 0 && stallAfter <= longestDuration))
    refuse('stallAfter')(
      'stallAfter must be a duration above zero and up to 100 years, such as minutes(5)',
      'stallAfter deve ser uma duração acima de zero e de até 100 anos, como minutes(5)',
    )
  if (!actions.includes(onStall))
    refuse('onStall')(
      `onStall must be one of ${actions.join(', ')}, not "${onStall}"`,
      `onStall deve ser um destes: ${actions.join(', ')}; não "${onStall}"`,
    )
  if (!Number.isInteger(maxResumes) || maxResumes < 0 || maxResumes > 1_000_000)
    refuse('maxResumes')(
      `maxResumes must be a whole number from 0, not ${shownValue(maxResumes)}`,
      `maxResumes deve ser um número inteiro a partir de 0, não ${shownValue(maxResumes)}`,
    )
  const { weight } = given
  if (weight !== undefined && !(Number.isInteger(weight) && weight >= 1 && weight <= mostWeight))
    refuse('weight')(
      `weight must be a whole number from 1 to ${mostWeight}, not ${shownValue(weight)}`,
      `weight deve ser um número inteiro de 1 a ${mostWeight}, não ${shownValue(weight)}`,
    )
  const items =
    given.items === undefined
      ? below.items
      : { ...below.items, ...itemPolicy(given.items, { ...kind, ...below.items }, refuse('items')) }
  return {
    ...below,
    stallAfter,
    onStall,
    maxResumes,
    stopAfter:
      stopAfter === undefined ? below.stopAfter : stopAfter === null ? null : checkStop(stopAfter, refuse('stopAfter')),
    ...(items === undefined || Object.keys(items).length === 0 ? {} : { items }),
    ...(given.retention === undefined
      ? {}
      : { retention: { ...below.retention, ...ownRetention(given.retention, retentionRefusal(refuse)) } }),
    ...(given.about === undefined ? {} : { about: checkAbout(given.about, refuse('about')) }),
    ...(weight === undefined ? {} : { weight }),
  }
}

const retentionRefusal =
  (refuse: (option: string) => Refuse): Refuse =>
  (en, pt) =>
    refuse('retention')(`retention: ${en}`, `retention: ${pt}`)

function checkStop(stop: StopAfter, refuse: Refuse): StopAfter {
  if (stop === null || typeof stop !== 'object')
    refuse('stopAfter takes { failures, percent, sameCause }', 'stopAfter recebe { failures, percent, sameCause }')
  refuseUnknown(stop, ['failures', 'percent', 'sameCause'], refuse, 'stopAfter.')
  const { failures, percent, sameCause } = stop
  if (failures === undefined && percent === undefined && sameCause === undefined)
    refuse('stopAfter needs failures, percent or sameCause', 'stopAfter precisa de failures, percent ou sameCause')
  if (sameCause !== undefined && !(Number.isInteger(sameCause) && sameCause >= 2 && sameCause <= 1000))
    refuse(
      `stopAfter.sameCause must be a whole number from 2 to 1000, not ${shownValue(sameCause)}`,
      `stopAfter.sameCause deve ser um número inteiro de 2 a 1000, não ${shownValue(sameCause)}`,
    )
  if (failures !== undefined && !(Number.isInteger(failures) && failures >= 1 && failures <= 1_000_000_000))
    refuse(
      `stopAfter.failures must be a whole number from 1 to 1000000000, not ${shownValue(failures)}`,
      `stopAfter.failures deve ser um número inteiro de 1 a 1000000000, não ${shownValue(failures)}`,
    )
  if (percent !== undefined && !(typeof percent === 'number' && percent > 0 && percent <= 100))
    refuse(
      `stopAfter.percent must be above 0 and up to 100, not ${shownValue(percent)}`,
      `stopAfter.percent deve ser acima de 0 e até 100, não ${shownValue(percent)}`,
    )
  return stop
}
