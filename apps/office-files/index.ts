/**
 * Reads ZIP files, their XML and workbooks as streams. The files come from strangers: every reader has limits, and a problem of a file is a
 * `FileTrouble`. Call the readers in a separate process (`ctx.isolated`), except `openZip`, which only unpacks bytes.
 */

export { FileTrouble, type Trouble } from './trouble.ts'
export { type Cell, longestCell, mostColumns, mostRows, openWorkbook, type Row, type Workbook } from './workbook.ts'
export { readXml, type XmlHandlers, xmlParser } from './xml.ts'
export { openZip, type Zip, type ZipEntry, type ZipLimits } from './zip.ts'
