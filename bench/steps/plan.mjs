/** The plan of all contenders. */
export const five = ['one', 'two', 'three', 'four', 'five']
export const atOnce = 100
const warmUp = 200
const steps = 1000

/** Milliseconds a step, one after the other. */
export async function alone(step) {
  for (let n = 0; n < warmUp; n++) await step(-1 - n)
  const began = performance.now()
  for (let n = 0; n < steps; n++) await step(n)
  return (performance.now() - began) / steps
}
