import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PATCHES = readdirSync(`${ROOT}patches`).filter((name) => name.endsWith('.patch'))

/** The files that a patch changes, with the lines that each has after it, hunk by hunk. */
function patchedParts(patch: string): { path: string; text: string }[] {
  const parts: { path: string; lines: string[] }[] = []
  let path = ''
  for (const line of patch.split('\n')) {
    if (line.startsWith('+++ b/')) path = line.slice('+++ b/'.length)
    else if (line.startsWith('@@')) parts.push({ path, lines: [] })
    else if (/^[+ ]/.test(line)) parts.at(-1)?.lines.push(line.slice(1))
  }
  return parts.map(({ path, lines }) => ({ path, text: lines.join('\n') }))
}

/** Of the text that goes upstream with a patch. */
const SECTIONS = ['## What is wrong', '## How a remote peer uses it', '## The change', '## The test']
const sourceName = (path: string): string => basename(path).replace(/\.js$/, '.ts')

describe('patches', () => {
  it('exist', () => expect(PATCHES.length).toBeGreaterThan(0))

  it.each(PATCHES)('%s is applied and documented', (name) => {
    const parts = patchedParts(readFileSync(`${ROOT}patches/${name}`, 'utf8'))
    expect(parts.length).toBeGreaterThan(0)
    for (const { path, text } of parts) {
      const file = readFileSync(ROOT + path, 'utf8')
      expect(file.includes(text), `${path} lacks a part of the patch; node bin/applyPatches.mjs applies it`).toBe(true)
    }
    const withoutVersion = name.replace(/\+[^+]*$/, '')
    expect(readFileSync(`${ROOT}patches/README.md`, 'utf8')).toContain(`\`${withoutVersion.replace('+', '/')}\``)
    const request = readFileSync(`${ROOT}patches/${withoutVersion}.md`, 'utf8')
    expect(request.match(/^## .*/gm)).toEqual(SECTIONS)
    for (const { path } of parts) expect(request).toContain(sourceName(path))
  })
})
