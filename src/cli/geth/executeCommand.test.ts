import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { executeFiles } from './executeCommand.ts'

const VECTOR = fileURLToPath(new URL('../../../../shared/vectors/op-sepolia-block-26207960.json.gz', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-execute-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function execute(...paths: string[]): Promise<{ isRight: boolean; lines: string[] }> {
  const lines: string[] = []
  const isRight = await executeFiles(paths, (line) => lines.push(line))
  return { isRight, lines }
}

describe.skipIf(!existsSync(VECTOR))('execute (skipped without ../shared/vectors)', () => {
  it('prints a line for each block, and reports a mismatched hash', async () => {
    expect(await execute(VECTOR)).toEqual({
      isRight: true,
      lines: [expect.stringMatching(/^26207960 0x[0-9a-f]{64} ok$/)],
    })
    const changed = JSON.parse(gunzipSync(readFileSync(VECTOR)).toString())
    changed.fixture.executing_payload.gasLimit = '0x1c9c380'
    const other = join(directory, 'other.json')
    writeFileSync(other, JSON.stringify(changed))
    const { isRight, lines } = await execute(VECTOR, other)
    expect(isRight).toBe(false)
    expect(lines).toEqual([
      expect.stringMatching(/^26207960 0x[0-9a-f]{64} ok$/),
      expect.stringMatching(/^26207960 0x[0-9a-f]{64} MISMATCH/),
    ])
  })
})

it('names an invalid file', async () => {
  const broken = join(directory, 'broken.json')
  writeFileSync(broken, '{}')
  await expect(execute(broken)).rejects.toThrow(errorWith('usage', broken, 'fixture'))
  const nowhere = join(directory, 'nowhere.json')
  await expect(execute(nowhere)).rejects.toThrow(errorWith('usage', nowhere, 'ENOENT'))
  await expect(execute()).rejects.toThrow(errorWith('usage'))
})
