import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { createMemoryBlock, deposit, type MemoryAccount } from '../../testUtils/memoryBlock.ts'

// Random programs that call each other, run by our frames and by EthereumJS: gas, output, logs, error and state must be
// equal.
// To repeat a failure, set DEVIUM_PROPERTY_SEED=<seed that the failure prints>, as for all property tests. For more
// runs, set DEVIUM_EVM_FUZZ_RUNS=<number>.

const RUNS = Number(process.env.DEVIUM_EVM_FUZZ_RUNS ?? propertyRuns(300))
const FORKS = [
  'bedrock',
  'regolith',
  'canyon',
  'ecotone',
  'fjord',
  'granite',
  'holocene',
  'isthmus',
  'jovian',
  'karst',
] as const

const CONTRACTS = [0, 1, 2].map((index): Hex => `0x${'c0'.repeat(19)}${(0xa0 + index).toString(16)}`)
const [FIRST = '0x'] = CONTRACTS
const SENDER: Hex = `0x${'33'.repeat(20)}`

function push(value: bigint): number[] {
  const digits = value.toString(16)
  const bytes = [...Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')]
  return [0x5f + bytes.length, ...bytes]
}

/** Values around limits. */
const word = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(0n, 70n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 16n) },
  { weight: 1, arbitrary: fc.bigInt(2n ** 53n - 2n, 2n ** 53n + 2n) },
  { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 256n - 1n) },
  { weight: 1, arbitrary: fc.constantFrom(2n ** 255n, 2n ** 256n - 1n, 2n ** 64n, 2n ** 32n) },
)
const address = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...CONTRACTS.map(BigInt)) },
  { weight: 1, arbitrary: fc.constantFrom(BigInt(SENDER), 0n, 0xdeadn) },
  // The same address for the chain: bits above 160 are ignored.
  { weight: 1, arbitrary: fc.constantFrom(...CONTRACTS.map((contract) => BigInt(contract) + 2n ** 160n)) },
  // Precompiles, without the pairing and those that are slow in JavaScript.
  { weight: 1, arbitrary: fc.constantFrom(1n, 2n, 3n, 4n, 5n, 6n, 7n, 9n, 0x100n) },
)
const small = fc.bigInt(0n, 130n)
/** Storage keys of contracts: two small slots, and three that are equal up to bit 64. */
const SLOTS = [0n, 1n, 2n ** 64n, 2n ** 255n, 2n ** 255n + 2n ** 64n]
const slot = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...SLOTS) }, { weight: 1, arbitrary: word })
const push1 = (arbitrary: fc.Arbitrary<bigint>) => arbitrary.map(push)
const sequence = (...parts: fc.Arbitrary<number[]>[]) => fc.tuple(...parts).map((lists) => lists.flat())
const opcode = (...codes: number[]) => fc.constantFrom(...codes).map((code) => [code])

const BINARY = [...Array(0x0b).keys()].map((n) => n + 1).filter((n) => n !== 8 && n !== 9)
/** Init codes: each deploys nothing, deploys code, or fails. */
const INIT_CODES = [
  // Code that destroys itself with the caller as beneficiary, and with an unused address.
  '6133ff60005260026 01ef3',
  '6130ff600052600260 1ef3',
  // Fails; destroys itself at once; returns code that begins with 0xef; reverts with 32 bytes; stops.
  'fe',
  '33ff',
  '60ef60005360016000f3',
  '60206000fd',
  '00',
  // Code that reverts with its call data size in a word.
  '6736600052602060 00fd600052600860 18f3',
].map((digits) => [...Buffer.from(digits.replaceAll(' ', ''), 'hex')])
/** Creates a contract with one of them and calls it. */
const creation = fc
  .tuple(fc.constantFrom(...INIT_CODES), fc.constantFrom(0xf0, 0xf5), fc.boolean(), fc.bigInt(0n, 1n))
  .map(([init, opcode, isCalled, value]) => {
    const toMemory = [0x5f + init.length, ...init, 0x60, 0x00, 0x52]
    const create = [...push(BigInt(init.length)), ...push(BigInt(32 - init.length)), ...push(value), opcode]
    const call = [
      ...Array.from({ length: 4 }, () => [0x60, 0x00]).flat(),
      ...push(value),
      0x84,
      0x62,
      0x01,
      0x00,
      0x00,
      0xf1,
    ]
    return [...toMemory, ...push(7n), ...create, ...(isCalled ? call : [])]
  })

/** Stores the outcome of a call: whether it succeeded, the length of its output, and the output's first word. */
const keepOutcome = fc.constantFrom<number[]>(
  [],
  [0x60, 0x10, 0x55],
  [0x60, 0x10, 0x55, 0x3d, 0x60, 0x11, 0x55],
  [0x3d, 0x5a, 0x50, 0x5b, 0x50, 0x5f, 0x51, 0x60, 0x12, 0x55],
)
const SKIP_ONE = [0x60, 0x04, 0x58, 0x01, 0x56, 0x00, 0x5b]
const piece: fc.Arbitrary<number[]> = fc.oneof(
  { weight: 6, arbitrary: push1(word) },
  {
    weight: 3,
    arbitrary: sequence(
      push1(word),
      push1(word),
      opcode(...BINARY, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1d),
    ),
  },
  { weight: 1, arbitrary: sequence(push1(word), opcode(0x1e), keepOutcome) },
  { weight: 1, arbitrary: opcode(...BINARY, 0x08, 0x09, 0x10, 0x14, 0x15, 0x19, 0x1a, 0x1b, 0x1c) },
  {
    weight: 2,
    arbitrary: opcode(
      ...Array.from({ length: 6 }, (_, n) => 0x80 + n),
      ...Array.from({ length: 4 }, (_, n) => 0x90 + n),
    ),
  },
  {
    weight: 2,
    arbitrary: opcode(
      0x30,
      0x32,
      0x33,
      0x34,
      0x36,
      0x38,
      0x3a,
      0x3d,
      0x41,
      0x42,
      0x43,
      0x44,
      0x45,
      0x46,
      0x47,
      0x48,
      0x58,
      0x59,
      0x5a,
      0x5b,
      0x5f,
      0x4a,
      0x50,
    ),
  },
  { weight: 2, arbitrary: sequence(push1(small), push1(small), opcode(0x20, 0x52, 0x53, 0xa0)) },
  { weight: 1, arbitrary: sequence(push1(word), push1(small), push1(small), opcode(0xa1)) },
  { weight: 1, arbitrary: sequence(push1(small), opcode(0x35, 0x51, 0x49)) },
  { weight: 1, arbitrary: sequence(push1(small), push1(small), push1(small), opcode(0x37, 0x39, 0x3e, 0x5e)) },
  { weight: 4, arbitrary: sequence(push1(fc.oneof(fc.bigInt(0n, 2n), word)), push1(slot), opcode(0x55, 0x55, 0x5d)) },
  { weight: 2, arbitrary: sequence(push1(slot), opcode(0x54, 0x5c)) },
  { weight: 1, arbitrary: sequence(push1(address), opcode(0x31, 0x3b, 0x3f)) },
  { weight: 1, arbitrary: sequence(push1(small), push1(small), push1(small), push1(address), opcode(0x3c)) },
  {
    weight: 2,
    arbitrary: sequence(
      push1(small),
      push1(small),
      push1(small),
      push1(small),
      push1(fc.bigInt(0n, 3n)),
      push1(address),
      push1(fc.oneof(fc.constant(200_000n), fc.bigInt(0n, 60_000n), word)),
      opcode(0xf1, 0xf2),
      keepOutcome,
    ),
  },
  {
    weight: 2,
    arbitrary: sequence(
      push1(small),
      push1(small),
      push1(small),
      push1(small),
      push1(address),
      push1(fc.oneof(fc.constant(200_000n), fc.bigInt(0n, 60_000n), word)),
      opcode(0xf4, 0xfa),
      keepOutcome,
    ),
  },
  // CREATE and CREATE2 of the bytes in memory, and of a few bytes put there.
  {
    weight: 1,
    arbitrary: sequence(push1(word), push1(small), push1(small), push1(fc.bigInt(0n, 1n)), opcode(0xf0, 0xf5)),
  },
  { weight: 2, arbitrary: creation },
  // A jump over one byte, a conditional jump, and a jump to any position.
  { weight: 1, arbitrary: fc.constant(SKIP_ONE) },
  { weight: 1, arbitrary: sequence(push1(fc.bigInt(0n, 1n)), push1(fc.bigInt(0n, 90n)), opcode(0x57)) },
  { weight: 1, arbitrary: sequence(push1(fc.bigInt(0n, 300n)), opcode(0x40)) },
)
/** The end of most programs. */
const ending = fc.oneof(
  { weight: 3, arbitrary: fc.constant<number[]>([]) },
  { weight: 2, arbitrary: sequence(push1(small), push1(small), opcode(0xf3, 0xfd)) },
  { weight: 1, arbitrary: sequence(push1(address), opcode(0xff)) },
  { weight: 1, arbitrary: sequence(push1(fc.bigInt(0n, 90n)), opcode(0x56)) },
  { weight: 1, arbitrary: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 5 }) },
)
const program = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 12 }), ending)
  .map(([pieces, end]) => toHex(Uint8Array.from([...pieces.flat(), ...end])))

interface Scene {
  fork: (typeof FORKS)[number]
  programs: Hex[]
  storage: bigint[]
  data: Uint8Array
  gasLimit: bigint
  value: bigint
  isCreation: boolean
}

const scene: fc.Arbitrary<Scene> = fc.record({
  fork: fc.constantFrom(...FORKS),
  programs: fc.tuple(program, program, program),
  storage: fc.array(fc.bigInt(0n, 2n), { minLength: SLOTS.length, maxLength: SLOTS.length }),
  data: fc.uint8Array({ maxLength: 70 }),
  gasLimit: fc.constantFrom(120_000n, 400_000n, 1_500_000n),
  value: fc.bigInt(0n, 2n),
  isCreation: fc.boolean(),
})

async function run(input: Scene, isReference: boolean) {
  const accounts: Record<Hex, MemoryAccount> = { [SENDER]: { balance: 100n, nonce: 5n } }
  for (const [index, contract] of CONTRACTS.entries()) {
    const storage = Object.fromEntries(input.storage.map((value, index) => [String(SLOTS[index]), value]))
    const code = input.programs[index]
    accounts[contract] = { balance: 10n, nonce: 1n, storage, ...(code === undefined ? {} : { code }) }
  }
  const { execution, world } = createMemoryBlock({ fork: input.fork, accounts, block: { number: 0 }, isReference })
  const { fork: _, programs, storage: __, isCreation, data, ...fields } = input
  const initCode = Buffer.from((programs[0] ?? '0x').slice(2), 'hex')
  const target = isCreation ? { to: null, data: new Uint8Array(initCode) } : { to: FIRST, data }
  const outcome = await execution.add(deposit({ from: SENDER, ...fields, ...target }))
  const { root } = world.commit()
  return {
    ...outcome,
    // The protocol does not define which of several reasons fails a program. It does define whether the program
    // reverted.
    failure: outcome.failure === undefined || outcome.failure === 'execution reverted' ? outcome.failure : 'other',
    returnData: toHex(outcome.returnData),
    logs: outcome.logs.map(({ address, topics, data }) => ({ address, topics, data: toHex(data) })),
    root,
  }
}

describe('the opcode loop', () => {
  it('has the same result as EthereumJS for random programs', { timeout: 120_000 + RUNS * 500 }, async () => {
    let succeeded = 0
    await fc.assert(
      fc.asyncProperty(scene, async (input) => {
        const fast = await run(input, false)
        expect(fast).toEqual(await run(input, true))
        if (fast.status === 1) succeeded++
      }),
      { numRuns: RUNS },
    )
    // The programs must not all fail at once.
    expect(succeeded).toBeGreaterThan(0)
  })
})
