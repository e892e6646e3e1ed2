/**
 * The possible steps of a simulation and the likelihood of each step: a statement gets a fate, time passes, a person runs an
 * action, a fault happens. Each step returns a line for the story.
 *
 * Invariant: every choice is drawn from the single stream of chance, from a list whose order is the same in each replay.
 */
import { act } from './people.ts'
import type { Process } from './process.ts'
import type { Fate } from './wire.ts'
import type { World } from './world.ts'

const fates: Record<Fate, number> = {
  answered: 94,
  'not sent': 2.4,
  'answer lost': 2.8,
  'dies before': 0.3,
  'dies after': 0.5,
}

type Happening = 'question' | 'time' | 'person' | 'crash' | 'freeze' | 'thaw' | 'start' | 'jump' | 'skew' | 'mood'

const mostProcesses = 3

/** Runs a random step. Returns the line for the story. */
export async function step(world: World): Promise<string> {
  const { chance, wires, time, outside } = world
  const alive = world.alive()
  const awake = alive.filter(each => !each.frozen && each.engine !== undefined)
  const frozen = alive.filter(each => each.frozen)
  const weights: Partial<Record<Happening, number>> = {
    ...(wires.ready().length > 0 ? { question: 90, time: 3 } : { time: 75 }),
    ...(awake.length > 0 ? { person: 4, crash: 0.3, skew: 0.2 } : {}),
    ...(awake.length > 1 && !wires.isOpen ? { freeze: 0.7 } : {}),
    ...(frozen.length > 0 ? { thaw: 0.3 } : {}),
    ...(alive.length < mostProcesses ? { start: 3 } : {}),
    jump: frozen.length > 0 ? 1.5 : 0.3,
    mood: 0.4,
  }
  switch (chance.weighed(weights)) {
    case 'question':
      return answer(world, chance.weighed(fates))
    case 'time':
      return pass(world)
    case 'person':
      return act(world, chance.one(awake))
    case 'crash':
      return reported(chance.one(awake), 'is killed', each => each.die())
    case 'freeze':
      return reported(chance.one(awake), 'freezes', each => {
        each.frozen = true
      })
    case 'thaw':
      return reported(chance.one(frozen), 'thaws', each => {
        each.frozen = false
      })
    case 'start':
      return reported(world.begin(), 'starts', () => {})
    case 'skew': {
      const minutes = chance.below(240) - 120
      return reported(chance.one(awake), `has its clock set wrong by ${minutes} minutes`, each => {
        each.skew = minutes * 60_000
      })
    }
    case 'jump': {
      const seconds = chance.one([3, 6, 6, 12, 12, 30, 90, 600, 3600])
      time.jump(seconds * 1000)
      return `everything stands still for ${seconds} s`
    }
    case 'mood':
      outside.mood = chance.one(['well', 'well', 'wait', 'stop'] as const)
      return `the provider is to answer: ${outside.mood}`
  }
}

function reported(process: Process, what: string, does: (process: Process) => void): string {
  does(process)
  return `${process.name} ${what}`
}

/** Picks a waiting statement and gives `fate` to the statement. */
export async function answer(world: World, fate: Fate): Promise<string> {
  const question = world.chance.one(world.wires.ready())
  world.asked = question.asker as Process
  await question.meet(fate)
  return `${question.asker.name} asks ${question.what}: ${fate}`
}

/** Moves time to the next sleeper and wakes the sleeper. Without a sleeper, moves time by 1 s. */
export function pass(world: World): string {
  if (!world.time.wakeNext()) world.time.jump(1000)
  return `it is ${new Date(world.time.now).toISOString().slice(8, 23)}`
}
