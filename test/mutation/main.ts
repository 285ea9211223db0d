import { matchesGlob, relative } from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { ROOMS } from './rooms.ts'

// npm run test:mutation [-- ROOM or FILE …], for example rollup/derive or rollup/derive/batchValidity.ts.
const targets = process.argv.length > 2 ? process.argv.slice(2) : ROOMS.map(({ name }) => name)

// The same inputs for each mutant: a property must not kill one by chance.
process.env.DEVIUM_PROPERTY_SEED ??= '1'
process.env.DEVIUM_PROPERTY_RUNS ??= '20'

async function score(target: string): Promise<string> {
  const room = ROOMS.find(({ name }) => target === name || target.startsWith(`${name}/`))
  if (room === undefined) throw new Error(`No room of mutation tests: ${target}`)
  const { name, tests = [] } = room
  process.env.MUTATION_TESTS = [`src/${name}/**/*.test.ts`, ...tests].join(' ')
  const files = `src/${target === name ? `${name}/**/*.ts` : target}`
  const results = await new Stryker({
    mutate: [files, '!**/*.test.ts', '!**/testUtils/**'],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutation/vitest.config.ts' },
    plugins: ['@stryker-mutator/vitest-runner', `${import.meta.dirname}/words.ts`],
    ignorers: ['words'],
    ignoreStatic: true,
    concurrency: 2,
    // A busy machine is no killed mutant; endless loops are found by their turns.
    timeoutMS: 10_000,
    // Stryker rewrites it with an interface of TypeScript that version 7 does not have; Vite needs none.
    tsconfigFile: 'none',
    tempDirName: '.cache/mutation/sandbox',
    ignorePatterns: ['.cache', 'dist'],
    incremental: true,
    incrementalFile: `.cache/mutation/${name.replace('/', '-')}.json`,
    reporters: ['progress-append-only', 'clear-text'],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  }).runMutationTest()
  // The results kept from earlier runs are of the whole room.
  const inTarget = results.filter(({ fileName }) => matchesGlob(relative('.', fileName), files))
  const count = (...states: string[]) => inTarget.filter(({ status }) => states.includes(status)).length
  const killed = count('Killed', 'Timeout')
  const valid = killed + count('Survived', 'NoCoverage')
  return `${target}: mutation score ${((100 * killed) / valid).toFixed(1)} % (${killed} of ${valid} mutants)`
}

const scores: string[] = []
for (const target of targets) scores.push(await score(target))
console.log(scores.join('\n'))
