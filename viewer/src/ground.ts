// ground.ts: a plane geom drawn without end: grid lines and a faint checker in the plane's own coordinates,
// shadows, and a fade into the background around the point looked at.
import * as THREE from 'three';

export interface Ground {
  mesh: THREE.Mesh;
  /// Centres the drawn part under a world point.
  follow(focus: THREE.Vector3): void;
  paint(theme: GroundTheme): void;
}

export interface GroundTheme {
  base: string;
  line: string;
}

/// frame: pose of the plane (its normal is the local z axis); reach: radius of the drawn part; cell: grid spacing.
export function makeGround(frame: THREE.Matrix4, reach: number, cell: number, tint: THREE.Color): Ground {
  const inverse = frame.clone().invert();
  const uniforms = {
    tgInverse: { value: inverse },
    tgCell: { value: cell },
    tgReach: { value: reach },
    tgFocus: { value: new THREE.Vector2() },
    tgLine: { value: new THREE.Color() },
  };
  const material = new THREE.MeshLambertMaterial({ transparent: true });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace('#include <common>', '#include <common>\nuniform mat4 tgInverse; varying vec2 tgPlane;')
      .replace('#include <begin_vertex>',
               '#include <begin_vertex>\ntgPlane = (tgInverse * modelMatrix * vec4(position, 1.0)).xy;');
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', `#include <common>
        uniform float tgCell, tgReach; uniform vec2 tgFocus; uniform vec3 tgLine; varying vec2 tgPlane;
        // share of a line one pixel wide at whole multiples of the cell, gone where cells shrink to pixels
        float tgGrid(float cell, float width) {
          vec2 g = tgPlane / cell, w = fwidth(g);
          vec2 d = abs(fract(g - 0.5) - 0.5) / max(w, vec2(1e-6));
          vec2 on = (1.0 - smoothstep(width - 0.5, width + 0.7, d)) * (1.0 - smoothstep(0.1, 0.45, w));
          return max(on.x, on.y);
        }`)
      .replace('#include <color_fragment>', `#include <color_fragment>
        vec2 tgTile = floor(tgPlane / tgCell);
        float tgSoft = 1.0 - smoothstep(0.1, 0.6, length(fwidth(tgPlane / tgCell)));
        diffuseColor.rgb *= 1.0 - 0.055 * tgSoft * mod(tgTile.x + tgTile.y, 2.0);
        diffuseColor.rgb = mix(diffuseColor.rgb, tgLine, 0.55 * tgGrid(tgCell, 0.5));
        diffuseColor.a *= 1.0 - smoothstep(0.25, 1.0, length(tgPlane - tgFocus) / tgReach);`);
  };
  const mesh = new THREE.Mesh(new THREE.PlaneGeometry(2 * reach, 2 * reach), material);
  mesh.receiveShadow = true;
  mesh.renderOrder = -10;
  mesh.quaternion.setFromRotationMatrix(frame);

  const local = new THREE.Vector3();
  return {
    mesh,
    follow(focus) {
      local.copy(focus).applyMatrix4(inverse);
      uniforms.tgFocus.value.set(local.x, local.y);
      mesh.position.set(local.x, local.y, 0).applyMatrix4(frame);
    },
    paint(theme) {
      material.color.set(theme.base);
      // the file's hue at the theme's lightness
      const own = tint.getHSL({ h: 0, s: 0, l: 0 });
      const base = material.color.getHSL({ h: 0, s: 0, l: 0 });
      if (own.s > 0.15) material.color.setHSL(own.h, 0.35 * own.s, base.l);
      uniforms.tgLine.value.set(theme.line);
    },
  };
}
