import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { bn254 } from '@noble/curves/bn254.js'
import { OpEvm } from '../src/execution/evm/opEvm.ts'
import { kzgLibrary } from '../src/execution/evm/precompiles/pointEvaluation.ts'
import { createMemoryBlock, deposit, type MemoryAccount } from '../src/execution/testUtils/memoryBlock.ts'
import { bigIntToBytes, concatBytes } from '../src/lib/bytes.ts'
import { fromHex, type Hex } from '../src/lib/hex.ts'
import { signHash } from '../src/lib/secp256k1.ts'
import { type StoredState, writeState } from './worstReads.ts'

// Blocks that repeat calls of one precompile, or one slow opcode. Each must execute within the block time, whatever uses its gas.

const BLOCK_GAS = 30_000_000n
const LIMIT_SECONDS = 2

/** A program that runs until its gas is used. */
export interface Load {
  id: string
  code: Hex
  input?: Uint8Array
  /** The fork with the lowest price. */
  fork?: 'jovian' | 'karst'
  accounts?: Record<Hex, MemoryAccount>
  /** Reads contracts and slots from the disk. */
  isOnDisk?: boolean
}

/** A load of calls of one precompile. */
interface PrecompileLoad extends Pick<Load, 'id' | 'fork'> {
  precompile: number
  input: Uint8Array
}

const MAIN: Hex = `0x${'aa'.repeat(20)}`
const word = (value: bigint | number) => bigIntToBytes(BigInt(value), 32)
const repeated = (bytes: Uint8Array, count: number) => concatBytes(...Array.from({ length: count }, () => bytes))

function bn254Inputs() {
  const g1 = bn254.G1.Point.BASE.multiply(12_345_678_901n).toAffine()
  const g2 = bn254.G2.Point.BASE.multiply(9_876_543_211n).toAffine()
  const point = concatBytes(word(g1.x), word(g1.y))
  const twist = concatBytes(word(g2.x.c1), word(g2.x.c0), word(g2.y.c1), word(g2.y.c0))
  const other = bn254.G1.Point.BASE.multiply(77_777n).toAffine()
  return {
    sum: concatBytes(point, word(other.x), word(other.y)),
    product: concatBytes(point, word(bn254.fields.Fr.ORDER - 3n)),
    pair: concatBytes(point, twist),
  }
}

function blsInputs() {
  const element = (value: bigint) => bigIntToBytes(value, 64)
  const encodeG1 = ({ x, y }: { x: bigint; y: bigint }) => concatBytes(element(x), element(y))
  const g1 = encodeG1(bls12_381.G1.Point.BASE.multiply(12_345_678_901n).toAffine())
  const { x, y } = bls12_381.G2.Point.BASE.multiply(9_876_543_211n).toAffine()
  const g2 = concatBytes(element(x.c0), element(x.c1), element(y.c0), element(y.c1))
  const scalar = word(bls12_381.fields.Fr.ORDER - 3n)
  const field = element(bls12_381.fields.Fp.ORDER - 5n)
  return { g1, g2, scalar, field }
}

function signedByP256(): Uint8Array {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const message = Buffer.from('a message')
  const signature = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const hash = createHash('sha256').update(message).digest()
  return concatBytes(hash, signature, Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url'))
}

function recoverable(): Uint8Array {
  const hash = new Uint8Array(32).fill(7)
  const { r, s, yParity } = signHash(hash, new Uint8Array(32).fill(9))
  return concatBytes(hash, word(27 + yParity), r, s)
}

function modexpInput(modulusBytes: number, exponentBytes: number, isOdd: boolean): Uint8Array {
  const modulus = new Uint8Array(modulusBytes).fill(0xff)
  if (!isOdd) modulus[modulusBytes - 1] = 0x80
  const base = new Uint8Array(modulusBytes).fill(0xfe)
  const lengths = [word(modulusBytes), word(exponentBytes), word(modulusBytes)]
  return concatBytes(...lengths, base, new Uint8Array(exponentBytes).fill(0xff), modulus)
}

/** go-ethereum, core/vm/testdata/precompiles/pointEvaluation.json */
const PROOF = fromHex(
  '0x01e798154708fe7789429634053cbf9f99b619f9f084048927333fce637f549b564c0a11a0f704f4fc3e8acfe0f8245f0ad1347b378fbf96e206da11a5d3630624d25032e67a7e6a4910df5834b8fe70e6bcfeeac0352434196bdf4b2485d5a18f59a8d2a1a625a17f3fea0fe5eb8c896db3764f3185481bc22f91b4aaffcca25f26936857bc3a7c2539ea8ec3a952b7873033e038326e87ed3e1276fd140253fa08e9fc25fb2d9a98527fc22a2c9612fbeafdad446cbc7bcdbdcd780af2c16a',
)

function precompileLoads(): PrecompileLoad[] {
  const bn = bn254Inputs()
  const { g1, g2, scalar, field } = blsInputs()
  const blake = (rounds: number) => concatBytes(bigIntToBytes(BigInt(rounds), 4), new Uint8Array(209).fill(1))
  const p256 = signedByP256()
  return [
    { id: 'ECRECOVER', precompile: 1, input: recoverable() },
    { id: 'SHA256, 32 bytes', precompile: 2, input: word(1) },
    { id: 'SHA256, 64 kB', precompile: 2, input: new Uint8Array(65_536) },
    { id: 'RIPEMD160, 32 bytes', precompile: 3, input: word(1) },
    { id: 'RIPEMD160, 64 kB', precompile: 3, input: new Uint8Array(65_536) },
    { id: 'IDENTITY, nothing', precompile: 4, input: new Uint8Array() },
    { id: 'IDENTITY, 64 kB', precompile: 4, input: new Uint8Array(65_536) },
    { id: 'MODEXP, 1 byte', precompile: 5, input: modexpInput(1, 1, true) },
    { id: 'MODEXP, 8 bytes, odd', precompile: 5, input: modexpInput(8, 4096, true) },
    { id: 'MODEXP, 8 bytes, even', precompile: 5, input: modexpInput(8, 4096, false) },
    { id: 'MODEXP, 16 bytes, odd', precompile: 5, input: modexpInput(16, 4096, true) },
    { id: 'MODEXP, 32 bytes, odd', precompile: 5, input: modexpInput(32, 1024, true) },
    { id: 'MODEXP, 32 bytes, even', precompile: 5, input: modexpInput(32, 1024, false) },
    { id: 'MODEXP, 64 bytes, even', precompile: 5, input: modexpInput(64, 1024, false) },
    { id: 'MODEXP, 128 bytes, even', precompile: 5, input: modexpInput(128, 1024, false) },
    { id: 'MODEXP, 256 bytes, even', precompile: 5, input: modexpInput(256, 512, false) },
    { id: 'MODEXP, 256 bytes, odd', precompile: 5, input: modexpInput(256, 512, true) },
    { id: 'MODEXP, 264 bytes, odd', precompile: 5, input: modexpInput(264, 512, true) },
    { id: 'MODEXP, 1024 bytes, odd', precompile: 5, input: modexpInput(1024, 256, true) },
    { id: 'MODEXP, 8 bytes, Karst', precompile: 5, input: modexpInput(8, 1024, true), fork: 'karst' },
    { id: 'MODEXP, 32 bytes, Karst', precompile: 5, input: modexpInput(32, 1024, true), fork: 'karst' },
    { id: 'bn254 addition', precompile: 6, input: bn.sum },
    { id: 'bn254 multiplication', precompile: 7, input: bn.product },
    { id: 'bn254 pairing, 1', precompile: 8, input: bn.pair },
    { id: 'bn254 pairing, 2', precompile: 8, input: repeated(bn.pair, 2) },
    { id: 'bn254 pairing, 100', precompile: 8, input: repeated(bn.pair, 100) },
    { id: 'BLAKE2F, 12 rounds', precompile: 9, input: blake(12) },
    { id: 'BLAKE2F, 1,000,000 rounds', precompile: 9, input: blake(1_000_000) },
    { id: 'point evaluation', precompile: 0x0a, input: PROOF },
    { id: 'BLS G1 addition', precompile: 0x0b, input: concatBytes(g1, g1) },
    { id: 'BLS G1 sum of 1', precompile: 0x0c, input: concatBytes(g1, scalar) },
    { id: 'BLS G1 sum of 128', precompile: 0x0c, input: repeated(concatBytes(g1, scalar), 128) },
    { id: 'BLS G2 addition', precompile: 0x0d, input: concatBytes(g2, g2) },
    { id: 'BLS G2 sum of 1', precompile: 0x0e, input: concatBytes(g2, scalar) },
    { id: 'BLS G2 sum of 128', precompile: 0x0e, input: repeated(concatBytes(g2, scalar), 128) },
    { id: 'BLS pairing, 1', precompile: 0x0f, input: concatBytes(g1, g2) },
    { id: 'BLS pairing, 2', precompile: 0x0f, input: repeated(concatBytes(g1, g2), 2) },
    { id: 'BLS pairing, 20', precompile: 0x0f, input: repeated(concatBytes(g1, g2), 20) },
    { id: 'BLS map to G1', precompile: 0x10, input: field },
    { id: 'BLS map to G2', precompile: 0x11, input: concatBytes(field, field) },
    { id: 'P256VERIFY, Jovian', precompile: 0x100, input: p256 },
    { id: 'P256VERIFY, Karst', precompile: 0x100, input: p256, fork: 'karst' },
  ]
}

/** Copies the call data to memory, then calls the precompile until the gas is used. */
function callingCode(precompile: number): Hex {
  const address = precompile.toString(16).padStart(4, '0')
  return `0x365f5f375b5f5f365f61${address}5afa50600456`
}

const OTHER: Hex = `0x${'bb'.repeat(20)}`
/** A contract that destroys itself in favour of the address in its call data. */
const ENDING: Hex = `0x${'cc'.repeat(20)}`
/** Repetitions of a cheap opcode between two jumps. */
const CHAINED = 1_000
const BIG = 'fe'.repeat(32)
/** A contract of maximum size: jump destinations, or one-byte pushes. */
const LARGE: Hex = `0x00${'5b'.repeat(24_575)}`

/** Init code that jumps to its end. */
const JUMPING = new Uint8Array(49_152).fill(0x5b)
JUMPING.set([0x61, 0xbf, 0xff, 0x56])
/** Start of loop counters, above all precompile addresses. */
const FIRST = 0x1_0000_0000

/** An endless loop: `before` once, then `body` repeatedly, with a counter on the stack. */
function loop(before: string, body: string): Hex {
  const start = before.replaceAll(' ', '').length / 2 + 6
  return `0x${before}64${FIRST.toString(16).padStart(10, '0')}5b600101${body}${`61${start.toString(16).padStart(4, '0')}`}56`.replaceAll(
    ' ',
    '',
  ) as Hex
}

/** The same with a body that keeps the stack height, repeated so often that the loop's own cost is negligible. */
function chain(before: string, body: string): Hex {
  return loop('', `${before} ${body.repeat(CHAINED)} 50`)
}

/** Expands memory to this many bytes. */
const memory = (bytes: number) => `5f 62${(bytes - 32).toString(16).padStart(6, '0')} 52`

function opcodeLoads(): Load[] {
  return [
    { id: 'jumps', code: loop('', '') },
    { id: 'EXP, 32 bytes', code: loop('', `7f${BIG} 7f${BIG} 0a 50`) },
    { id: 'MUL', code: loop('', `7f${BIG} 7f${BIG} 02 50`) },
    { id: 'DIV', code: loop('', `67${BIG.slice(0, 16)} 7f${BIG} 04 50`) },
    { id: 'SDIV', code: loop('', `67${BIG.slice(0, 16)} 7f${BIG} 05 50`) },
    { id: 'ADDMOD', code: loop('', `7f${'fd'.repeat(32)} 7f${BIG} 7f${BIG} 08 50`) },
    { id: 'MULMOD', code: loop('', `7f${'fd'.repeat(32)} 7f${BIG} 7f${BIG} 09 50`) },
    { id: 'KECCAK256, 32 bytes', code: loop('', '6020 5f 20 50') },
    { id: 'KECCAK256, 100 kB', code: loop(memory(100_000), '620186a0 5f 20 50') },
    { id: 'MOD', code: loop('', `67${BIG.slice(0, 16)} 7f${BIG} 06 50`) },
    { id: 'SMOD', code: loop('', `67${BIG.slice(0, 16)} 7f${BIG} 07 50`) },
    { id: 'SIGNEXTEND', code: chain(`7f${BIG}`, '6013 0b') },
    { id: 'SHL', code: chain(`7f${BIG}`, '6001 1b') },
    { id: 'SHR', code: chain(`7f${BIG}`, '5f 1c') },
    { id: 'SAR', code: chain(`7f${BIG}`, '6001 1d') },
    { id: 'NOT', code: chain(`7f${BIG}`, '19') },
    { id: 'CLZ', code: chain(`7f${BIG}`, '80 1e 50'), fork: 'karst' },
    { id: 'JUMPDEST', code: chain('5f', '5b') },
    { id: 'ADDRESS', code: chain('5f', '30 50') },
    { id: 'CALLER', code: chain('5f', '33 50') },
    { id: 'SELFBALANCE', code: chain('5f', '47 50') },
    { id: 'CALLDATALOAD', code: chain('5f', '35'), input: new Uint8Array(64) },
    { id: 'MLOAD and MSTORE', code: loop('', `7f${BIG} 5f 52 5f 51 50`) },
    { id: 'MCOPY, 100 kB', code: loop(memory(100_000), '620186a0 6001 5f 5e') },
    { id: 'CALLDATACOPY, 100 kB', code: loop(memory(100_000), '620186a0 5f 5f 37'), input: new Uint8Array(100_000) },
    { id: 'CODECOPY, 100 kB', code: loop(memory(100_000), '620186a0 5f 5f 39') },
    {
      id: 'RETURNDATACOPY, 100 kB',
      code: loop(`${memory(100_000)} 5f5f 620186a0 5f 6004 5a fa 50`, '620186a0 5f 5f 3e'),
    },
    { id: 'EXTCODECOPY, 24 kB', code: loop(memory(32_768), `615fff 5f 5f 73${OTHER.slice(2)} 3c`) },
    { id: 'BALANCE, cold', code: loop('', '80 31 50') },
    { id: 'BALANCE, junk above bit 160', code: loop('', '80 60a0 1b 31 50') },
    { id: 'EXTCODESIZE, cold', code: loop('', '80 3b 50') },
    { id: 'EXTCODEHASH, cold', code: loop('', '80 3f 50') },
    { id: 'EXTCODEHASH, warm', code: loop('', `73${OTHER.slice(2)} 3f 50`) },
    { id: 'SLOAD, cold', code: loop('', '80 54 50') },
    { id: 'SLOAD, cold, words alike below bit 64', code: loop('', '80 6040 1b 54 50') },
    { id: 'SLOAD, warm', code: loop('', '5f 54 50') },
    { id: 'SSTORE, new slots', code: loop('', '80 80 55') },
    { id: 'SSTORE, one slot', code: loop('', '80 5f 55') },
    { id: 'TSTORE, new slots', code: loop('', '80 80 5d') },
    { id: 'TSTORE, words alike below bit 64', code: loop('', '80 80 6040 1b 5d') },
    { id: 'TLOAD', code: loop('', '80 5c 50') },
    { id: 'BLOCKHASH', code: loop('', '6003 40 50') },
    { id: 'LOG4', code: loop('', '80 80 80 80 5f 5f a4') },
    { id: 'LOG0, 100 kB', code: loop(memory(100_000), '620186a0 5f a0') },
    { id: 'CREATE, nothing', code: loop('', '5f 5f 5f f0 50') },
    { id: 'CREATE, 48 kB of init code', code: loop(memory(49_152), '61c000 5f 5f f0 50') },
    { id: 'CREATE2, 48 kB that jump', code: loop('61c000 5f 5f 37', '80 61c000 5f 5f f5 50'), input: JUMPING },
    { id: 'CREATE, 24 kB of code', code: loop('64 616000 5ff3 5f 52', '6005 601b 5f f0 50') },
    { id: 'CREATE and SELFDESTRUCT', code: loop('6132ff 5f 52', '6002 601e 5f f0 50') },
    { id: 'CALL of accounts that are not', code: loop('', '5f 5f 5f 5f 5f 85 5a f1 50') },
    { id: 'CALL that makes accounts', code: loop('', '5f 5f 5f 5f 6001 85 5a f1 50') },
    { id: 'CALL with ether', code: loop('', `5f 5f 5f 5f 6001 73${OTHER.slice(2)} 5a f1 50`) },
    { id: 'CALL of itself, to the bottom', code: loop('', '5f 5f 5f 5f 5f 30 5a f1 50') },
    { id: 'STATICCALL', code: loop('', `5f 5f 5f 5f 73${OTHER.slice(2)} 5a fa 50`) },
    {
      id: 'STATICCALL with 1 MiB of input',
      code: loop(memory(2 ** 20), `5f 5f 62100000 5f 73${OTHER.slice(2)} 5a fa 50`),
    },
    { id: 'IDENTITY, 1 MiB', code: loop(memory(2 ** 20), '5f 5f 62100000 5f 6004 5a fa 50') },
    { id: 'IDENTITY, 1 MiB and back', code: loop(memory(2 ** 20), '62100000 5f 62100000 5f 6004 5a fa 50') },
    { id: 'ECRECOVER of 1 MiB', code: loop(memory(2 ** 20), '5f 5f 62100000 5f 6001 5a fa 50') },
    {
      id: 'SELFDESTRUCT to cold accounts',
      code: loop('', `80 5f 52 5f 5f 6020 5f 5f 73${ENDING.slice(2)} 5a f1 50`),
      accounts: { [ENDING]: { code: '0x5f35ff' } },
    },
    { id: 'DELEGATECALL', code: loop('', `5f 5f 5f 5f 73${OTHER.slice(2)} 5a f4 50`) },
    { id: 'BALANCE, of the disk', code: loop('', '80 31 50'), isOnDisk: true },
    { id: 'EXTCODESIZE, of the disk', code: loop('', '80 3b 50'), isOnDisk: true },
    { id: 'EXTCODEHASH, of the disk', code: loop('', '80 3f 50'), isOnDisk: true },
    { id: 'EXTCODECOPY, of the disk', code: loop('', '6020 5f 5f 83 3c'), isOnDisk: true },
    { id: 'SLOAD, of the disk', code: loop('', '80 54 50'), isOnDisk: true },
    { id: 'CALL of 24 kB, each another', code: loop('', '5f 5f 5f 5f 5f 85 5a f1 50'), isOnDisk: true },
  ]
}

interface Seconds {
  /** Wall time, which a chain waits. */
  clock: number
  /** Processor time of this process. The KZG library runs in another process. */
  processor: number
}

async function secondsOf(load: Load, gas: bigint, stored?: StoredState): Promise<Seconds> {
  const { code, input, fork = 'jovian', accounts = {} } = load
  const opened = await stored?.open()
  const { execution } = createMemoryBlock({
    fork,
    ...(opened === undefined ? {} : { world: opened.world }),
    accounts: { ...accounts, [MAIN]: { code, balance: 10n ** 18n }, [OTHER]: { code: LARGE } },
    block: { gasLimit: 2n * BLOCK_GAS },
  })
  const { env } = execution
  env.evm = new OpEvm({ world: env.world, ancestorHash: () => `0x${'ab'.repeat(32)}` }, env.block.rules)
  const before = process.cpuUsage()
  const startMs = performance.now()
  const { gasUsed, failure } = await execution.add(
    deposit({ to: MAIN, gasLimit: gas, ...(input === undefined ? {} : { data: input }) }),
  )
  if (gasUsed !== gas) throw new Error(`it ended early, after ${gasUsed} gas: ${failure ?? 'it succeeded'}`)
  execution.finish()
  const clock = (performance.now() - startMs) / 1000
  const { user, system } = process.cpuUsage(before)
  await opened?.close()
  return { clock, processor: (user + system) / 1e6 }
}

export function worstLoads(): Load[] {
  const precompiles = precompileLoads().map(
    ({ precompile, ...load }): Load => ({ ...load, code: callingCode(precompile) }),
  )
  return [...precompiles, ...opcodeLoads()]
}

/** The contracts that the loads call. */
export const WORST_CALLEES: Readonly<Record<Hex, MemoryAccount>> = { [OTHER]: { code: LARGE } }

/** Prints a row for each load. Returns true if every block executed in time. */
export async function benchWorstBlocks(only = ''): Promise<boolean> {
  const gas = Number(BLOCK_GAS) / 1e6
  const heads = ['seconds', 'of which processor', 'Mgas/s'].map((head) => head.padStart(20))
  console.log(`\n${`${gas} Mgas of one thing`.padEnd(32)}${heads.join('')}`)
  await kzgLibrary.load()
  let isInTime = true
  const loads = worstLoads().filter(({ id }) => id.includes(only))
  const stored = loads.some(({ isOnDisk }) => isOnDisk) ? await writeState(FIRST + 1, MAIN) : undefined
  for (const load of loads) {
    const state = load.isOnDisk ? stored : undefined
    // Loading and compilation happen once in the life of a process, so they do not count.
    await secondsOf(load, 4_000_000n, state)
    const { clock, processor } = await secondsOf(load, BLOCK_GAS, state)
    const isLate = clock > LIMIT_SECONDS
    if (isLate) isInTime = false
    const figures = [clock.toFixed(2), processor.toFixed(2), (gas / clock).toFixed(1)]
    const row = `${load.id.padEnd(32)}${figures.map((figure) => figure.padStart(20)).join('')}`
    console.log(isLate ? `${row}  over ${LIMIT_SECONDS} s` : row)
  }
  await stored?.remove()
  return isInTime
}
