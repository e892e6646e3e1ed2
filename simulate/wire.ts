/**
 * A process's way to the database. Every question waits for its turn, and whoever gives the turns decides what becomes of it:
 * it is answered, never sent, or committed with its answer lost; or the process dies just before or just after.
 *
 * Invariant: one question at a time is under way in the whole world, so that a run can be played again. A transaction of our
 * own is one question; in one that is lent to a handler each statement is, and while it is open and asks nobody else does,
 * for they might wait for its locks.
 */
import { type Db, openDb } from '../src/database/db.ts'
import type { LeasedConnection } from '../src/database/leased-connection.ts'
import { linkLost } from '../test/support/database-errors.ts'
import type { Body } from './time.ts'

export type Fate = 'answered' | 'not sent' | 'answer lost' | 'dies before' | 'dies after'

/** Who asks. */
export interface Asker extends Body {
  readonly name: string
  die(): void
  /** The operating system closes the sockets of the dead. */
  atDeath(then: () => void): void
}

export interface Question {
  readonly asker: Asker
  readonly what: string
  /** The connection that is lent, inside of whose open transaction it is asked; undefined: none. */
  readonly inside: LeasedConnection | undefined
  /** Resolves when it has its fate. */
  meet(fate: Fate): Promise<void>
}

export class Wires {
  readonly #waiting = new Set<Question>()
  #open = 0

  /** What may be asked now, in the order in which it came. */
  ready(): Question[] {
    const able: Question[] = []
    for (const each of this.#waiting) {
      if (each.asker.dead) this.#waiting.delete(each)
      else if (!each.asker.frozen) able.push(each)
    }
    // What is sent on one connection arrives in its order.
    const firsts = new Map(able.toReversed().flatMap(each => (each.inside ? [[each.inside, each]] : [])))
    return firsts.size > 0 ? [...firsts.values()] : able
  }

  isAsking(asker: Asker): boolean {
    return Array.from(this.#waiting).some(each => each.asker === asker)
  }

  /** Whether any transaction of a handler's is open. */
  get isOpen(): boolean {
    return this.#open > 0
  }

  wire(asker: Asker, given: Parameters<typeof openDb>[0]): Db {
    const db = openDb(given)
    const ask = <T>(what: string, send: () => Promise<T>) =>
      this.#ask({ asker, what, send, inside: undefined, lost: () => db.translate(linkLost(), true) })
    asker.atDeath(() => void db.close())
    return {
      ...db,
      run: (statement, values, deadlineMs) => ask(statement.name, () => db.run(statement, values, deadlineMs)),
      transaction: (work, deadlineMs) => ask('transaction', () => db.transaction(work, deadlineMs)),
      leaseConnection: () => ask('lend', () => db.leaseConnection()).then(connection => this.#lent(asker, connection)),
      // Hints never come: when they do is PostgreSQL's affair, and could not be played again.
      session: () => new Promise(() => {}),
    }
  }

  #ask<T>(given: Omit<Question, 'meet'> & { send: () => Promise<T>; lost: () => unknown }): Promise<T> {
    const { asker, what, inside, send, lost } = given
    return new Promise((resolve, reject) => {
      const meet = async (fate: Fate) => {
        this.#waiting.delete(question)
        // A connection that is lent and whose borrower never hears of it is as one that never was.
        const isLoan = what === 'lend'
        if (fate === 'dies before' || (isLoan && fate === 'dies after')) return asker.die()
        if (fate === 'not sent' || (isLoan && fate === 'answer lost')) return reject(lost())
        const answer = await send().then(
          value => () => resolve(value),
          error => () => reject(error),
        )
        if (fate === 'answered') answer()
        else if (fate === 'answer lost') reject(lost())
        else asker.die()
      }
      const question: Question = { asker, what, inside, meet }
      this.#waiting.add(question)
    })
  }

  #lent(asker: Asker, connection: LeasedConnection): LeasedConnection {
    this.#open++
    let trouble: Error | undefined
    let isBack = false
    const giveBack: LeasedConnection['release'] = how => {
      if (isBack) return
      isBack = true
      this.#open--
      connection.release(trouble === undefined ? how : 'in doubt')
    }
    asker.atDeath(() => giveBack('in doubt'))
    const lost = () => {
      trouble ??= linkLost()
      return trouble
    }
    const ask = <T>(what: string, send: () => Promise<T>) => this.#ask({ asker, what, send, inside: connection, lost })
    return {
      get trouble() {
        return trouble ?? connection.trouble
      },
      query(query, deadlineMs) {
        const text = typeof query === 'string' ? query : query.text
        return ask(`tx ${/^\w+/.exec(text)?.[0] ?? ''}`, async () => {
          // Whatever else was on its way goes with the link.
          if (trouble !== undefined) throw trouble
          return connection.query(query, deadlineMs)
        })
      },
      release: giveBack,
    }
  }
}
