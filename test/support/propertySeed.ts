// Property tests from one seed, wherever they stand: DEVIUM_PROPERTY_SEED=<seed that fast-check printed with a failure>.
const seed = process.env.DEVIUM_PROPERTY_SEED
if (seed !== undefined) {
  if (!/^-?\d+$/.test(seed)) throw new Error(`DEVIUM_PROPERTY_SEED: "${seed}" is not a whole number`)
  // Loaded only then: most test files have no use for it.
  const { default: fc } = await import('fast-check')
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })
}
