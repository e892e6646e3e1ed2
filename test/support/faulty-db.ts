/**
 * A real database with faults put in between: an error before a statement is sent, or after it was committed and its
 * answer is lost. Each fault strikes so many times and is gone. A test whose fault never strikes fails: it would prove nothing. A transaction is `transaction` as a whole and `transaction.1`,
 * `transaction.2` … statement by statement; one that is lent to a handler is `lend`, then `tx.begin`, `tx.query`, `tx.keep`,
 * `tx.commit` and `tx.rollback`, and a fault in it cuts its link.
 */
import type { Db, Statement } from '../../src/database/db.ts'
import type { LeasedConnection } from '../../src/database/leased-connection.ts'
import { onTestFinished } from './together.ts'

export { databaseError, linkLost } from './database-errors.ts'

type When = 'before' | 'after'

interface Fault {
  statement: string
  when: When
  error: Error
  left: number
  struck: number
  /** Only calls whose values it says yes to. */
  matches: (values: unknown[]) => boolean
}

/** A fault that was put in. */
interface Arranged {
  /** How often it has struck so far. */
  readonly struck: number
}

export interface FaultyDb extends Db {
  fail(
    statement: string,
    when: When,
    error: Error,
    options?: { times?: number; matches?: (values: unknown[]) => boolean; mayMiss?: boolean },
  ): Arranged
  /** As a process that is killed at its nth call: nothing after that is sent or answered, and its transactions are gone. */
  dieAt(nth: number, when: When): Promise<void>
  /** The same at that statement, the first one that is asked for once `after` has been. */
  dieAtNext(statement: string, when: When, options: { after: string }): Promise<void>
  /**
   * Holds a statement up until the promise resolves. Resolves when a statement is held. `mayMiss`, here and above: the test passes although
   * the fault never strikes.
   */
  hold(statement: string, when: When, until: Promise<void>, options?: { mayMiss?: boolean }): Promise<void>
  /** The statements that were asked for, in order. */
  readonly asked: string[]
  /** Resolves when the statement has been asked for. */
  askedFor(statement: string): Promise<void>
}

export function faulty(db: Db): FaultyDb {
  const faults: Fault[] = []
  const holds: { statement: string; when: When; until: Promise<void>; held: number; came: () => void }[] = []
  const asked: string[] = []
  const watchers: { statement: string; seen: () => void }[] = []
  let death: { isNow: (name: string) => boolean; when: When; came: () => void } | undefined
  let dead = false

  async function strike({ name }: Statement, when: When, values: unknown[]): Promise<void> {
    if (death !== undefined && when === death.when && death.isNow(name)) {
      dead = true
      death.came()
    }
    if (dead) await new Promise(() => {})
    for (const each of holds.filter(each => each.statement === name && each.when === when)) {
      each.held++
      each.came()
      await each.until
    }
    const fault = faults.find(
      each => each.statement === name && each.when === when && each.left > 0 && each.matches(values),
    )
    if (fault === undefined) return
    fault.left--
    fault.struck++
    throw fault.error
  }
  const note = (name: string) => {
    asked.push(name)
    for (const each of watchers) if (each.statement === name) each.seen()
  }
  return {
    ...db,
    asked,
    fail(statement, when, error, { times = 1, matches = () => true, mayMiss = false } = {}) {
      const fault: Fault = { statement, when, error, left: times, struck: 0, matches }
      faults.push(fault)
      onTestFinished(() => {
        if (fault.struck === 0 && !mayMiss) throw new Error(`the fault at ${statement}, ${when} it, never struck`)
      })
      return fault
    },
    dieAt: (nth, when) =>
      new Promise(resolve => {
        death = { isNow: () => asked.length > nth, when, came: resolve }
      }),
    dieAtNext: (statement, when, { after }) =>
      new Promise(resolve => {
        death = { isNow: name => name === statement && asked.includes(after), when, came: resolve }
      }),
    hold(statement, when, until, { mayMiss = false } = {}) {
      return new Promise(came => {
        const hold = { statement, when, until, held: 0, came }
        holds.push(hold)
        onTestFinished(() => {
          if (hold.held === 0 && !mayMiss) throw new Error(`the hold at ${statement}, ${when} it, held nothing`)
        })
      })
    },
    askedFor: statement => new Promise(resolve => watchers.push({ statement, seen: resolve })),
    async run<Row>(statement: Statement, values: unknown[], deadlineMs?: number) {
      note(statement.name)
      await strike(statement, 'before', values)
      const rows = await db.run<Row>(statement, values, deadlineMs)
      await strike(statement, 'after', values)
      return rows
    },
    async leaseConnection() {
      note('lend')
      await strike({ name: 'lend', text: '' }, 'before', [])
      const connection = await db.leaseConnection()
      try {
        await strike({ name: 'lend', text: '' }, 'after', [])
      } catch (error) {
        connection.release('in doubt')
        throw error
      }
      let trouble: Error | undefined
      const faultyLoan: LeasedConnection = {
        get trouble() {
          return trouble ?? connection.trouble
        },
        async query(query, deadlineMs) {
          const { text, values = [] } = typeof query === 'string' ? { text: query } : query
          const name = `tx.${/^(begin|commit|rollback|reset)/.exec(text)?.[0] ?? (text.includes('retoma.checkpoint') ? 'keep' : 'query')}`
          note(name)
          const struck = (when: When) => {
            const struck = strike({ name, text }, when, [...values]).catch(error => {
              trouble ??= error
              throw error
            })
            if (dead) connection.release('in doubt')
            return struck
          }
          await struck('before')
          const answer = await connection.query(query, deadlineMs)
          await struck('after')
          return answer
        },
        release: how => connection.release(trouble === undefined ? how : 'in doubt'),
      }
      return faultyLoan
    },
    async transaction(work, deadlineMs) {
      note('transaction')
      await strike({ name: 'transaction', text: '' }, 'before', [])
      let count = 0
      const answer = await db.transaction(client => {
        const query = async (text: string, values: unknown[] = []) => {
          const statement = { name: `transaction.${++count}`, text }
          note(statement.name)
          await strike(statement, 'before', values)
          const result = await client.query(text, values)
          await strike(statement, 'after', values)
          return result
        }
        return work({ query })
      }, deadlineMs)
      await strike({ name: 'transaction', text: '' }, 'after', [])
      return answer
    },
  }
}
