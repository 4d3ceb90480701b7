// Builds one HTML file: scripts and styles inlined, and a content security policy that allows exactly those
// two by hash, so nothing that a replay's data says can ever run or fetch.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

const sha256 = (text) => `'sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}'`;

// the MIT licences of what is bundled ask for their text to travel along
function licences() {
  const text = ['three', 'uplot', 'webm-muxer'].map((name) => {
    const body = readFileSync(new URL(`./node_modules/${name}/LICENSE`, import.meta.url), 'utf8').trim();
    return `${name}\n\n${body}`;
  });
  return `<!--\nTangere replay viewer (Apache-2.0). It contains:\n\n${text.join('\n\n').replace(/-{2,}/g, '-')}\n-->`;
}

function singleFile() {
  return {
    name: 'single-file',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const page = files.find((f) => f.fileName.endsWith('.html'));
      const code = files.filter((f) => f.type === 'chunk');
      const style = files.filter((f) => f.fileName.endsWith('.css'));
      if (code.length !== 1) this.error(`expected one script, got ${code.length}`);
      const script = `(() => {\n${code[0].code.trim()}\n})();`;
      const css = style.map((f) => String(f.source)).join('\n');
      if (/<\/script|<!--/i.test(script)) this.error('the script holds text that would end its element');
      const policy =
        `default-src 'none'; script-src ${sha256(script)}; style-src ${sha256(css)}; img-src data: blob:`;
      let html = String(page.source)
        .replace(/\s*<script[^>]*type="module"[^>]*>\s*<\/script>/g, '')
        .replace(/\s*<link[^>]*rel="(stylesheet|modulepreload)"[^>]*>/g, '');
      html = html.replace('<meta charset="utf-8" />', (m) =>
        `${m}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
      html = html.replace('</head>', () => `  <style>${css}</style>\n  </head>`);
      // before the blocks: the page runs while they load
      html = html.replace('<div id="tangere-data"', (m) => `<script>${script}</script>\n    ${m}`);
      html = html.replace('<html lang="en">', (m) => `${licences()}\n${m}`);
      page.source = html;
      for (const f of [...code, ...style]) delete bundle[f.fileName];
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [singleFile()],
  build: {
    target: 'es2020',
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
