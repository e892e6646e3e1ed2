/**
 * `retoma jobs retry|cancel|erase` with a filter in place of ids: counts the jobs that match, asks, and applies the action in calls of a few
 * seconds until no matching job is left.
 *
 * Invariant: nothing changes before a person has confirmed the count, or without `--yes`. A program without a terminal is refused. A job that
 * was created after the count stays as it is.
 */
import type { Command } from 'commander'
import { internalsOf } from '../../../engine/internals.ts'
import type { BulkActionResult, BulkFilter, Engine } from '../../../index.ts'
import type { JobState } from '../../../jobs/model/state.ts'
import { instant, state, wrongUse } from '../../arguments.ts'
import type { Context } from '../../command-context.ts'
import { refuseWithoutData, withEngine } from '../../command-database.ts'
import { canAsk, confirm } from '../../confirm.ts'
import { osUser } from '../../os-user.ts'
import type { Cli } from '../../program.ts'

export interface BulkFlags {
  kind?: string
  state?: JobState
  queue?: string
  batch?: string
  group?: string
  createdBefore?: Date
  createdAfter?: Date
  error?: string
  yes?: true
  dryRun?: true
}

type BulkAction = 'retry' | 'cancel' | 'erase'

export function addBulkOptions(command: Command, { output }: Cli): Command {
  const { help } = output.word
  return command
    .option('--kind <kind>', help.ofKind)
    .option('--state <state>', help.state, state)
    .option('--queue <queue>', help.ofQueue)
    .option('--batch <id>', help.ofBatchAny)
    .option('--group <group>', help.ofGroup)
    .option('--created-before <instant>', help.createdBefore, instant('--created-before'))
    .option('--created-after <instant>', help.createdAfter, instant('--created-after'))
    .option('--error <code>', help.ofError)
    .option('--yes', help.yes)
    .option('--dry-run', help.bulkDryRun)
}

/** The filter of the flags; undefined: the flags name no filter. Refuses ids beside a filter, and neither of both. */
export function filterOf(ids: readonly string[], flags: BulkFlags): BulkFilter | undefined {
  const { kind, state, queue, batch: batchId, group: groupKey, createdBefore, createdAfter, error } = flags
  const named = { kind, state, queue, batchId, groupKey, createdBefore, createdAfter, error }
  const given = Object.entries(named).filter(([, value]) => value !== undefined)
  if (ids.length > 0 === given.length > 0) throw wrongUse(({ wrong }) => wrong.idsOrFilter)
  if (ids.length > 0 && (flags.yes || flags.dryRun)) throw wrongUse(({ wrong }) => wrong.filterOnly)
  return ids.length > 0 ? undefined : Object.fromEntries(given)
}

/** Returns the exit code. */
export async function applyToAll(
  context: Context,
  action: BulkAction,
  filter: BulkFilter,
  { yes, dryRun }: BulkFlags,
): Promise<number> {
  const { output } = context
  const { bulk } = output.word.jobs
  await refuseWithoutData(context)
  return withEngine(context, {}, async (engine, asked) => {
    const bounded = await withoutLaterJobs(engine, filter)
    const { changed: matched, done: all } = await apply(engine, action, bounded, { dryRun: true })
    const wire = { matched, counted_all: all, changed: 0, conflicts: 0, dry_run: dryRun === true }
    if (dryRun || matched === 0) {
      output.answer(wire, [matched === 0 ? bulk.none : bulk.would[action](matched, all)])
      return 0
    }
    if (!yes && (output.json || !canAsk())) throw wrongUse(({ jobs }) => jobs.bulk.needsYes(matched, all))
    if (!yes && !(await confirm(bulk.ask[action](matched, all), asked))) {
      output.answer(wire, [bulk.declined])
      return 1
    }
    const sum = await inCalls(
      after => apply(engine, action, bounded, { after }),
      asked,
      changed => output.note(bulk.soFar(changed)),
    )
    output.answer({ ...wire, ...sum }, [
      bulk.done[action](sum.changed),
      ...(sum.conflicts > 0 ? [bulk.keyTaken(sum.conflicts)] : []),
      ...(sum.done ? [] : [bulk.stopped]),
    ])
    return sum.done ? 0 : 1
  })
}

/** The filter for the jobs that exist now, by the clock of the database. */
async function withoutLaterJobs(engine: Engine, filter: BulkFilter): Promise<BulkFilter> {
  const now = await internalsOf(engine).databaseNow()
  const { createdBefore } = filter
  return { ...filter, createdBefore: createdBefore !== undefined && createdBefore < now ? createdBefore : now }
}

/** Calls until no matching job is left, or until the abort; `done`: no matching job is left. */
export async function inCalls(
  call: (after: string | undefined) => Promise<BulkActionResult>,
  asked: AbortSignal,
  soFar: (changed: number) => void,
): Promise<{ changed: number; conflicts: number; done: boolean }> {
  const sum = { changed: 0, conflicts: 0 }
  for (let after: string | undefined; !asked.aborted; ) {
    const some = await call(after)
    sum.changed += some.changed
    sum.conflicts += some.conflicts
    if (some.done) return { ...sum, done: true }
    after = some.next ?? undefined
    soFar(sum.changed)
  }
  return { ...sum, done: false }
}

function apply(
  engine: Engine,
  action: BulkAction,
  filter: BulkFilter,
  { dryRun, after }: { dryRun?: true; after?: string | undefined },
): Promise<BulkActionResult> {
  const options = { ...osUser(), ...(dryRun ? { dryRun } : {}) }
  if (action === 'cancel') return engine.jobs.cancelMany(filter, options)
  const from = { ...options, ...(after === undefined ? {} : { after }) }
  return action === 'erase' ? engine.jobs.eraseMany(filter, from) : engine.jobs.retryMany(filter, from)
}
