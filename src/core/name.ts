/** What a kind, a queue or a schedule may be called. */
export const namePattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/
export const nameRule = '1 to 100 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit'
