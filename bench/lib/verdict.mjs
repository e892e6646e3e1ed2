/** The output of a proof: figures, then the result of each bound. */
import { round } from './figures.mjs'

export function createVerdict() {
  let broken = 0
  const verdict = (sentence, ok) => {
    if (!ok) broken++
    console.log(`  ${ok ? 'held:    ' : 'NOT held:'} ${sentence}`)
  }
  return {
    get broken() {
      return broken
    },
    say: line => console.log(`  ${line}`),
    hold: verdict,
    atMost: (what, figure, bound, unit = '') =>
      verdict(`${what}: ${round(figure, 2)}${unit}, at most ${bound}${unit}`, figure <= bound),
    atLeast: (what, figure, bound, unit = '') =>
      verdict(`${what}: ${round(figure, 2)}${unit}, at least ${bound}${unit}`, figure >= bound),
  }
}
