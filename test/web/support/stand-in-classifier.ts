/**
 * The classifier with a job in place of the real one, on a virtual clock that runs by itself: the name of each file decides what happens
 * to the document (apps/classifier/test/door.ts), and five minutes pass in a second.
 */

import { routesOf } from '../../../apps/classifier/routes/index.ts'
import { createRuns } from '../../../apps/classifier/runs.ts'
import { standInBatch } from '../../../apps/classifier/test/door.ts'
import { createApp, type System } from '../../../src/http/index.ts'
import { listen } from '../../../src/http/server.ts'
import { minutes, seconds } from '../../../src/index.ts'
import { testEngine } from '../../../src/testing/index.ts'
import { migratedDatabase } from '../../support/database.ts'
import { onTestFinished } from '../../support/together.ts'

interface StandInOptions {
  /** True while the outside service fails. */
  isDown: () => boolean
  /** False: only with a token. Default: everybody on this machine, as an admin. */
  isOpen?: boolean
}

export async function standInClassifier({ isDown, isOpen = true }: StandInOptions) {
  const classification = standInBatch({ timeout: minutes(60), isDown })
  const runs = createRuns({ classification, model: 'm', isSimulated: false })
  const system: System = {
    name: 'classifier',
    page: '/classificador/',
    routes: routesOf(runs).map(route => ({ ...route, language: 'pt' as const })),
  }
  const database = await migratedDatabase('with systems')
  const made = await testEngine({ jobs: [runs.openRun], batches: [classification], databaseUrl: database.url })
  runs.attach(made.engine)
  const world = { speed: seconds(0.5), isOver: false }
  const running = run()
  onTestFinished(async () => {
    world.isOver = true
    await running
    await made.close()
    await database.drop()
  })

  /** Time passes in steps, so that loops beat and the watchdog checks in between. */
  async function run(): Promise<void> {
    while (!world.isOver) {
      await made.clock.advance(world.speed)
      await made.tick()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  const app = createApp(made.engine, { open: isOpen, systems: [system], routes: system.routes })
  const server = await listen(app, '127.0.0.1', 0)
  onTestFinished(() => server.close())
  return {
    engine: made.engine,
    url: `http://127.0.0.1:${server.port}/`,
    /** How much time a step of the clock is. */
    passes(each: number) {
      world.speed = seconds(each)
    },
  }
}
