/**
 * A simulated process: an engine with a worker, a watchdog, a janitor and a scheduler, and with a separate wire and clock. A
 * process dies without notice, or freezes as a laptop does when the lid is closed. A thawed process does not know how much time
 * has passed.
 *
 * Invariant: a dead process never sends a statement, wakes or writes again.
 */
import { createEngineOn } from '../src/engine/create-engine.ts'
import type { Engine } from '../src/index.ts'
import type { Clock } from '../src/lib/clock.ts'
import type { Time } from './time.ts'
import type { Asker, Wires } from './wire.ts'
import { type Outside, type Work, workOf } from './work.ts'

export class Process implements Asker {
  readonly name: string
  readonly clock: Clock
  readonly work: Work
  /** The ids of all workers of this process. */
  readonly workers = new Set<string>()
  /** `undefined` while the process starts. */
  engine: Engine | undefined
  dead = false
  frozen = false
  /** The error of the process's clock, in milliseconds. */
  skew = 0
  readonly #last: (() => void)[] = []

  constructor(name: string, time: Time, outside: Outside) {
    this.name = name
    this.clock = time.clockOf(this, () => this.skew)
    this.work = workOf(outside, this.clock)
  }

  /**
   * Starts the engine and the worker. Never resolves if the process dies during the start. A failed start is a death;
   * a later step may start another process.
   */
  async start(wires: Wires, databaseUrl: string): Promise<void> {
    const { jobs, batches, schedules, limits } = this.work
    try {
      const engine = await createEngineOn(given => wires.wire(this, given), {
        databaseUrl,
        ...{ jobs, batches, schedules, limits },
        clock: this.clock,
        connections: 2,
        migrate: false,
        rateLimits: 'postgresql',
      })
      await engine.work()
      this.engine = engine
    } catch {
      this.die()
    }
  }

  die(): void {
    if (this.dead) return
    this.dead = true
    for (const then of this.#last) then()
  }

  atDeath(then: () => void): void {
    if (this.dead) then()
    else this.#last.push(then)
  }
}
