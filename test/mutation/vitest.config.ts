import { defineConfig } from 'vitest/config'

// The unit tests of the room that main.ts names.
export default defineConfig({
  test: {
    // A mutant is switched on for a whole run: the files of one run may share their modules.
    isolate: false,
    include: process.env.MUTATION_TESTS?.split(' ') ?? [],
    // An Anvil for each mutant would take hours.
    exclude: ['**/*.system.test.ts'],
    setupFiles: ['./test/support/propertySettings.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
  },
})
