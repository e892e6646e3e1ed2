/**
 * Defines the errors of the snaps: the reasons why an image cannot be analysed. docs/errors.md lists the errors (`npm run docs`).
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'

export const errors = defineErrors({
  // Requests
  snap_too_large: {
    status: 413,
    en: '{name} has more than {megabytes} MB',
    pt: '{name} tem mais de {megabytes} MB',
  },
  // Images
  snap_gone: {
    status: 410,
    en: 'snap {id} is not there any more',
    pt: 'o snap {id} não existe mais',
  },
  not_an_image: {
    status: 422,
    en: 'the file is no JPEG, PNG, WebP, GIF, TIFF or AVIF image',
    pt: 'o arquivo não é uma imagem JPEG, PNG, WebP, GIF, TIFF ou AVIF',
  },
  too_many_pixels: {
    status: 422,
    en: 'the image has {width} x {height} pixels; at most {megapixels} million pixels are read',
    pt: 'a imagem tem {width} x {height} pixels; são lidos no máximo {megapixels} milhões de pixels',
  },
  corrupt_image: {
    status: 422,
    en: 'the image is damaged or incomplete: {problem}',
    pt: 'a imagem está danificada ou incompleta: {problem}',
  },
  polyglot_image: {
    status: 422,
    en: 'the file is an image and also {kind}; send the image alone',
    pt: 'o arquivo é uma imagem e também {kind}; envie só a imagem',
  },
  image_timeout: {
    status: 422,
    en: 'the image could not be analysed within {seconds} s',
    pt: 'a imagem não pôde ser analisada em {seconds} s',
  },
  image_memory: {
    status: 422,
    en: 'the image needs more than {megabytes} MB of memory',
    pt: 'a imagem precisa de mais de {megabytes} MB de memória',
  },
  image_crash: {
    status: 422,
    en: 'the process that decoded the image ended: {how}',
    pt: 'o processo que decodificava a imagem terminou: {how}',
  },
})
