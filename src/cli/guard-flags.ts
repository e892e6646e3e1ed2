/** Builds a guard from command-line flags. An invalid guard is `wrong_use`, worded with the flags if possible. */

import { isRetomaError, RetomaError } from '../errors/errors.ts'
import { defineGuard, type Guard } from '../guards/model/guard.ts'
import { type GuardNow, type GuardValue, guardNow } from '../guards/model/guard-value.ts'
import { parsePair } from '../guards/model/table-name.ts'
import type { Duration } from '../lib/values/duration.ts'
import { wrongUse } from './arguments.ts'

export interface GuardFlags {
  table?: string
  status?: string[]
  signal?: string[]
  after?: Duration
  set?: string[]
  null?: string[]
  where?: string[]
  limit?: number
  timeZone?: string
  dryRun?: true
  list?: true
}

/** The flags that describe a guard and so require --table. */
export const oneOffFlags = ['status', 'signal', 'after', 'set', 'null', 'where', 'limit', 'timeZone'] as const

export function guardOf(flags: GuardFlags & { table: string }): Guard {
  const { table, status = [], signal, after, set = [], null: nulls = [], where = [], limit, timeZone } = flags
  if (status.length === 0) throw missing('--status')
  if (signal === undefined) throw missing('--signal')
  if (after === undefined) throw missing('--after')
  if (set.length + nulls.length === 0) throw missing('--set')
  const running = status.map(each => pair('--status', each))
  const [first] = running
  if (running.some(each => each.column !== first!.column)) throw wrongUse(word => word.wrong.guardTwoStatuses)
  try {
    return defineGuard({
      name: 'one-off',
      table,
      status: { column: first!.column, running: running.map(each => each.value) },
      signal,
      after,
      set: Object.fromEntries([...set.map(assigned), ...nulls.map(column => [column, null] as const)]),
      where: gathered(where.map(each => pair('--where', each))),
      ...(limit === undefined ? {} : { limit }),
      ...(timeZone === undefined ? {} : { timeZone }),
    })
  } catch (error) {
    if (!isRetomaError(error, 'bad_definition')) throw error
    throw new RetomaError('wrong_use', { problem: error.facts.problem! }, { cause: error })
  }
}

/** `now()` is the instant of the guard's write. */
function assigned(text: string): readonly [string, GuardValue | GuardNow] {
  const { column, value } = pair('--set', text)
  return [column, value === 'now()' ? guardNow : value]
}

/** Several values of the same column are alternatives. */
function gathered(pairs: readonly { column: string; value: string }[]): Record<string, string[]> {
  const values: Record<string, string[]> = {}
  for (const { column, value } of pairs) values[column] = [...(values[column] ?? []), value]
  return values
}

function pair(flag: string, text: string): { column: string; value: string } {
  const parsed = parsePair(text)
  if (parsed === undefined) throw wrongUse(word => word.wrong.guardPair(flag, text))
  return parsed
}

const missing = (flag: string) => wrongUse(word => word.wrong.guardFlagMissing(flag))
