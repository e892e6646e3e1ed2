/**
 * The verbs of the engine with who presses: it stands in the `action` events that follow, so that the others see who it was.
 */
import type { Engine } from '../engine.ts'
import type { Pressed, PressedBatch, PressedQueue, ResumedBatch, RetriedBatch } from '../index.ts'
import type { Call } from './route.ts'

interface By {
  by: string
}

interface Pressing {
  pause(id: string, by: By): Promise<PressedBatch>
  unpause(id: string, by: By): Promise<PressedBatch>
  resume(id: string, by: By): Promise<ResumedBatch>
  cancel(id: string, by: By): Promise<PressedBatch>
  retryFailed(id: string, options: By & { cause?: string }): Promise<RetriedBatch>
  setPriority(id: string, priority: number, by: By): Promise<PressedBatch & { moved: number }>
  skip(id: string, reason: string, by: By): Promise<Pressed>
  retry(id: string, by: By): Promise<Pressed>
  pauseQueue(name: string, by: By): Promise<PressedQueue>
  unpauseQueue(name: string, by: By): Promise<PressedQueue>
  runSchedule(name: string, by: By): Promise<{ id: string; created: boolean }>
  runGuard(name: string, options: By & { dryRun: boolean }): ReturnType<Engine['runGuard']>
}

/** The engine's hand, and whose it is. */
export const pressing = ({ engine, who }: Pick<Call, 'engine' | 'who'>): { hand: Pressing; by: By } => ({
  hand: engine as unknown as Pressing,
  by: { by: who.user },
})
