/** Never gives the thread back. */
export default function run() {
  for (let turns = 0; ; turns++) Math.sqrt(turns)
}
