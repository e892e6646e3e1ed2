/** Sums the costs of a job or of a batch. */

/** A query for the sums by currency, without zeros at the end. `rows`: the table with its condition. */
export const costsOf = (rows: string): string =>
  `select currency, trim_scale(sum(amount))::text as amount from ${rows} group by currency order by currency`
