/** The engine, and who presses: it stands in the `action` events that follow, so that the others see who it was. */
import type { Engine } from '../engine.ts'
import type { Call } from './route.ts'

export const pressing = ({ engine, who }: Pick<Call, 'engine' | 'who'>): { hand: Engine; by: { by: string } } => ({
  hand: engine,
  by: { by: who.user },
})
