import { expect, test } from 'vitest'
import { finalStates, isFinal, states, transitions, transitionsFrom } from './state.ts'

test('every state can be reached, and every state but the start is reached by a verb', () => {
  const reached = new Set(transitions.map(way => way.to))
  expect(states.filter(state => !reached.has(state))).toEqual([])
})

test('a verb is told apart by its name and leads to one state', () => {
  const verbs = transitions.map(way => way.verb)
  expect(new Set(verbs).size).toBe(verbs.length)
})

test('only a person moves what is final, and whatever is not final can be cancelled', () => {
  for (const state of finalStates) expect(transitionsFrom(state).map(way => way.by)).not.toContain('worker')
  for (const state of finalStates) expect(transitionsFrom(state).map(way => way.by)).not.toContain('watchdog')
  for (const state of states.filter(each => !isFinal(each)))
    expect(transitionsFrom(state).map(way => way.verb)).toContain('cancel')
})

test('what succeeded stays, unless a person runs it anew', () => {
  expect(transitionsFrom('succeeded')).toMatchObject([{ verb: 'rerun', by: 'person' }])
})

test('only a worker takes a job up, and only from waiting', () => {
  expect(transitions.filter(way => way.to === 'running')).toMatchObject([
    { verb: 'claim', from: ['waiting'], by: 'worker' },
  ])
})
