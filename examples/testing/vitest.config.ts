/** Its own, so that the one of the checkout above is not taken for it. */
export default {}
