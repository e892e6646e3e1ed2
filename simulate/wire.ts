/**
 * The connection of a process to the database. Every question (a statement, a transaction or a lease of a connection) waits
 * for a turn and then gets a fate: answered, never sent, or committed with a lost answer; or the process dies just before or
 * just after.
 *
 * Invariant: only 1 question is under way in the whole simulation, so a run can be replayed. A transaction of the engine is 1
 * question. In a transaction leased to a handler, each statement is a question; while such a statement waits, no other
 * question gets a turn, because the other question might wait for the transaction's locks.
 */
import { type Db, openDb } from '../src/database/db.ts'
import type { LeasedConnection } from '../src/database/leased-connection.ts'
import { linkLost } from '../test/support/database-errors.ts'
import type { Body } from './time.ts'

export type Fate = 'answered' | 'not sent' | 'answer lost' | 'dies before' | 'dies after'

/** The process which asks a question. */
export interface Asker extends Body {
  readonly name: string
  die(): void
  /** The operating system closes the sockets of the dead. */
  atDeath(then: () => void): void
}

export interface Question {
  readonly asker: Asker
  readonly what: string
  /** The leased connection whose open transaction contains the question; `undefined` outside such a transaction. */
  readonly inside: LeasedConnection | undefined
  /** Gives the question a fate. Resolves when the fate has taken effect. */
  meet(fate: Fate): Promise<void>
}

export class Wires {
  readonly #waiting = new Set<Question>()
  #open = 0

  /** Returns the questions which may get a turn now, oldest first. */
  ready(): Question[] {
    const able: Question[] = []
    for (const each of this.#waiting) {
      if (each.asker.dead) this.#waiting.delete(each)
      else if (!each.asker.frozen) able.push(each)
    }
    // Statements on the same connection arrive in the order of sending.
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
      // Hints never arrive: the time of a notification depends on PostgreSQL, so a replay would differ.
      session: () => new Promise(() => {}),
    }
  }

  #ask<T>(given: Omit<Question, 'meet'> & { send: () => Promise<T>; lost: () => unknown }): Promise<T> {
    const { asker, what, inside, send, lost } = given
    return new Promise((resolve, reject) => {
      const meet = async (fate: Fate) => {
        this.#waiting.delete(question)
        // If the borrower never gets the answer, the connection is not leased at all.
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
          // A lost connection also loses all later statements.
          if (trouble !== undefined) throw trouble
          return connection.query(query, deadlineMs)
        })
      },
      release: giveBack,
    }
  }
}
